import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerScanner, NotJson } from '../../../providers/rpc/answerScanner.ts';

const RUNS = process.env.FAREBOX_TEST_LONG ? 100_000 : 3_000;

function scan(text: string, cut: number): AnswerScanner | undefined {
  const bytes = Buffer.from(text);
  const scanner = new AnswerScanner();
  try {
    for (let at = 0; at < bytes.length; at += cut) scanner.write(bytes.subarray(at, at + cut));
    scanner.end();
    return scanner;
  } catch (error) {
    if (error instanceof NotJson) return undefined;
    throw error;
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const spaced = fc
  .json({ maxDepth: 4 })
  .chain((text) => fc.constantFrom(text, ` ${text}\n`, JSON.stringify(JSON.parse(text), undefined, 2)));

describe('the scanner of answers', () => {
  it('takes what JSON.parse takes, in pieces of any length', () => {
    fc.assert(
      fc.property(spaced, fc.integer({ min: 1, max: 40 }), (text, cut) => scan(text, cut) !== undefined),
      { numRuns: RUNS },
    );
  });

  it('refuses what JSON.parse refuses', () => {
    const alphabet = fc.constantFrom(...'{}[],:"\\u0019-+.eEtrufalsn \n\u0001é'.split(''));
    const soup = fc.array(alphabet, { maxLength: 12 }).map((letters) => letters.join(''));
    const damaged = fc
      .tuple(spaced, fc.nat(), alphabet, fc.constantFrom(0, 1))
      .map(([text, at, letter, gone]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + letter + text.slice(place + gone);
      });
    fc.assert(
      fc.property(fc.oneof(soup, damaged), fc.integer({ min: 1, max: 9 }), (text, cut) => {
        // A lone half of a pair is no UTF-8, and becomes another text on the way.
        fc.pre(Buffer.from(text).toString() === text);
        expect(scan(text, cut) !== undefined, JSON.stringify(text)).toBe(parses(text));
      }),
      { numRuns: RUNS * 3 },
    );
  });

  it('finds the members of each item, and leaves their text as it was', () => {
    const member = fc.tuple(
      fc.constantFrom('id', 'result', 'error', 'jsonrpc', 'idx', '\\u0069d', ''),
      fc.json({ maxDepth: 2 }),
    );
    const item = fc.uniqueArray(member, { selector: ([key]) => JSON.parse(`"${key}"`), maxLength: 5 });
    const written = (members: [string, string][]) =>
      `{${members.map(([key, value]) => ` "${key}" : ${value}`).join(' ,')}}`;
    fc.assert(
      fc.property(
        fc.array(item, { maxLength: 4 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 99 }),
        (items, one, cut) => {
          const first = items[0];
          const text = one && first ? written(first) : `[${items.map(written).join(',')}]`;
          const bytes = Buffer.from(text);
          const found = scan(text, cut)?.answers ?? [];
          const expected = one && first ? [first] : items;
          expect(found).toHaveLength(expected.length);
          for (const [index, members] of expected.entries()) {
            const answer = found[index];
            for (const name of ['id', 'result', 'error'] as const) {
              const value = members.find(([key]) => JSON.parse(`"${key}"`) === name)?.[1];
              const span = answer?.[name];
              const shown = span && bytes.toString('utf8', span.start, span.end);
              expect(shown?.trim()).toBe(value?.trim());
            }
            expect(bytes.toString('utf8', answer?.start, answer?.end)).toBe(written(members));
          }
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('says when a member is there twice, however it is written', () => {
    for (const text of ['{"id":1,"id":2}', '{"result":1,"r\\u0065sult":2}', '[{"error":1,"error":{}}]']) {
      expect(scan(text, 3)?.answers[0]?.twice).toBe(true);
    }
    expect(scan('{"result":{"id":1,"result":2},"id":1}', 5)?.answers[0]?.twice).toBe(false);
  });

  it('keeps a number of twenty digits', () => {
    const text = '{"result":12345678901234567890,"id":1}';
    const span = scan(text, 7)?.answers[0]?.result;
    expect(text.slice(span?.start, span?.end)).toBe('12345678901234567890');
  });

  it('refuses a depth that would cost its memory', () => {
    expect(scan('['.repeat(20_000) + ']'.repeat(20_000), 1_000)).toBeUndefined();
  });
});
