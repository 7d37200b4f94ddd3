/** The quick way to read answers: what it takes is read as the scanner reads it, and all else is left to that one. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonBytes } from '../../../domain/rpc/jsonBytes.ts';
import {
  AnswerScanner,
  NotJson,
  type Scanned,
  type ScannedAnswer,
} from '../../../providers/rpc/answerScanner.ts';
import { readPlainAnswer } from '../../../providers/rpc/plainAnswer.ts';

const RUNS = process.env.FAREBOX_TEST_LONG ? 200_000 : 5_000;

/** With a copy of each answer: it is told in the same object every time. */
function plain(bytes: Buffer): Scanned | undefined {
  const answers: ScannedAnswer[] = [];
  const read = readPlainAnswer(new JsonBytes(bytes), (answer) => answers.push(structuredClone(answer)));
  return read && { ...read, answers };
}

function scanned(bytes: Buffer): Scanned | undefined {
  const scanner = new AnswerScanner();
  try {
    scanner.write(bytes);
    scanner.end();
    return { isBatch: scanner.isBatch, answers: scanner.answers };
  } catch (error) {
    if (error instanceof NotJson) return undefined;
    throw error;
  }
}

const name = fc.constantFrom('id', 'result', 'error', 'jsonrpc', 'idx', 'i\\u0064', '', 'é');
const inside = fc.oneof(
  fc.json({ maxDepth: 2 }),
  fc.constantFrom('1', 'null', '12345678901234567890', '1e400'),
);
const item = fc
  .array(fc.tuple(name, inside), { maxLength: 4 })
  .map((members) => `{${members.map(([key, value]) => `"${key}":${value}`).join(',')}}`);
const answer = fc.oneof(
  item,
  fc.array(item, { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
  item.map((text) => `${text}\n`),
  fc.json({ maxDepth: 3 }),
);

describe('the quick way to read answers', () => {
  it('reads what it takes as the scanner does', () => {
    const letter = fc.constantFrom(...'{}[],:"\\u0019-+.eEtfnl \n\u0001é'.split(''));
    const damaged = fc
      .tuple(answer, fc.nat(), letter, fc.constantFrom(0, 1))
      .map(([text, place, put, gone]) => {
        const at = place % (text.length + 1);
        return text.slice(0, at) + put + text.slice(at + gone);
      });
    fc.assert(
      fc.property(fc.oneof(answer, damaged), (text) => {
        const bytes = Buffer.from(text);
        const read = plain(bytes);
        if (read) expect(read, JSON.stringify(text)).toEqual(scanned(bytes));
      }),
      { numRuns: RUNS * 2 },
    );
  });

  it('takes what nodes write, in any letters', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((each) => !/["\\\p{Cc}]/u.test(each));
    const value = fc.oneof(text, fc.integer(), fc.constant(null), fc.array(fc.dictionary(text, text)));
    const written = fc.record({ jsonrpc: fc.constant('2.0'), id: fc.nat(), result: value });
    fc.assert(
      fc.property(fc.array(written, { minLength: 1 }), (answers) => {
        const bytes = Buffer.from(`${JSON.stringify(answers)}\n`);
        const results = plain(bytes)?.answers.map(({ result }) =>
          bytes.toString('utf8', result?.start, result?.end),
        );
        expect(results).toEqual(answers.map(({ result }) => JSON.stringify(result)));
      }),
      { numRuns: RUNS / 10 },
    );
  });

  it.each(['', '[', '{}{}', '{"id":1', '[{"id":1},]', '{"id":01}', '{"result":"a', '{"error":tru}'])(
    'leaves %s to the scanner, which refuses it',
    (text) => {
      expect(plain(Buffer.from(text))).toBeUndefined();
      expect(scanned(Buffer.from(text))).toBeUndefined();
    },
  );
});
