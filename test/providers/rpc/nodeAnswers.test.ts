import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonBytes } from '../../../domain/json/jsonBytes.ts';
import { JsonProblem } from '../../../domain/json/jsonLimits.ts';
import { ERROR, ID, NodeAnswers, RESULT } from '../../../providers/rpc/nodeAnswers.ts';

const RUNS = process.env.FAREBOX_TEST_LONG ? 100_000 : 3_000;
const MEMBERS = { id: ID, result: RESULT, error: ERROR } as const;

function scan(text: string, cut: number): NodeAnswers | undefined {
  const bytes = Buffer.from(text);
  const answers = new NodeAnswers(1);
  try {
    for (let at = 0; at < bytes.length; at += cut) answers.write(new JsonBytes(bytes.subarray(at, at + cut)));
    answers.finish();
    return answers;
  } catch (error) {
    if (error instanceof JsonProblem) return undefined;
    throw error;
  }
}

/** Text of a member; undefined if the answer lacks it. */
function shown(text: string, answers: NodeAnswers | undefined, [answer, name]: [number, keyof typeof MEMBERS]) {
  const member = MEMBERS[name];
  if (!answers?.has(answer, member)) return undefined;
  return Buffer.from(text).toString('utf8', answers.start(answer, member), answers.endOf(answer, member));
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

describe('the answers of a node', () => {
  it('accept what JSON.parse accepts, in chunks of any length', () => {
    fc.assert(
      fc.property(spaced, fc.integer({ min: 1, max: 40 }), (text, cut) => scan(text, cut) !== undefined),
      { numRuns: RUNS },
    );
  });

  it('refuse what JSON.parse refuses', () => {
    const alphabet = fc.constantFrom(...'{}[],:"\\u0019-+.eEtrufalsn \n\u0001é'.split(''));
    const soup = fc.array(alphabet, { maxLength: 12 }).map((letters) => letters.join(''));
    const damaged = fc.tuple(spaced, fc.nat(), alphabet, fc.constantFrom(0, 1)).map(([text, at, letter, gone]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + letter + text.slice(place + gone);
    });
    fc.assert(
      fc.property(fc.oneof(soup, damaged), fc.integer({ min: 1, max: 9 }), (text, cut) => {
        // A lone surrogate is not UTF-8 and would change in the encoding.
        fc.pre(Buffer.from(text).toString() === text);
        expect(scan(text, cut) !== undefined, JSON.stringify(text)).toBe(parses(text));
      }),
      { numRuns: RUNS * 3 },
    );
  });

  it("keep the text of each item's members unchanged", () => {
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
          const found = scan(text, cut);
          const expected = one && first ? [first] : items;
          expect([found?.count, found?.isBatch]).toEqual([expected.length, !(one && first)]);
          for (const [index, members] of expected.entries()) {
            for (const name of ['id', 'result', 'error'] as const) {
              const value = members.find(([key]) => JSON.parse(`"${key}"`) === name)?.[1];
              expect(shown(text, found, [index, name])?.trim()).toBe(value?.trim());
            }
          }
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('keep members with any characters', () => {
    const text = fc.string({ unit: 'grapheme' });
    const value = fc.oneof(text, fc.integer(), fc.constant(null), fc.array(fc.dictionary(text, text)));
    const written = fc.record({ jsonrpc: fc.constant('2.0'), id: fc.nat(), result: value });
    fc.assert(
      fc.property(fc.array(written, { minLength: 1 }), fc.integer({ min: 1, max: 99 }), (answers, cut) => {
        const whole = `${JSON.stringify(answers)}\n`;
        const found = scan(whole, cut);
        const results = answers.map((_, index) => shown(whole, found, [index, 'result']));
        expect(results).toEqual(answers.map(({ result }) => JSON.stringify(result)));
      }),
      { numRuns: RUNS / 10 },
    );
  });

  it('report a duplicate member, however it is escaped', () => {
    for (const text of ['{"id":1,"id":2}', '{"result":1,"r\\u0065sult":2}', '[{"error":1,"error":{}}]']) {
      expect(scan(text, 3)?.isTwice(0)).toBe(true);
    }
    expect(scan('{"result":{"id":1,"result":2},"id":1}', 5)?.isTwice(0)).toBe(false);
  });

  it('keep a number of twenty digits', () => {
    const text = '{"result":12345678901234567890,"id":1}';
    expect(shown(text, scan(text, 7), [0, 'result'])).toBe('12345678901234567890');
  });

  it.each(['', '[', '{}{}', '{"id":1', '[{"id":1},]', '{"id":01}', '{"result":"a', '{"error":tru}'])(
    'refuse %s',
    (text) => {
      expect(scan(text, 100)).toBeUndefined();
    },
  );

  it('refuse a nesting depth that would cost too much memory', () => {
    expect(scan('['.repeat(20_000) + ']'.repeat(20_000), 1_000)).toBeUndefined();
  });

  it('refuse more answers than there were calls', () => {
    expect(scan(`[${'1,'.repeat(999)}1]`, 1_000)?.count).toBe(1_000);
    expect(scan(`[${'1,'.repeat(1_000)}1]`, 1_000)).toBeUndefined();
  });
});
