import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createJsonScanner } from '../../../api/body/jsonScanner.ts';

const LIMITS = { depth: 3, keys: 4, values: 5 };

function scan(text: string | Buffer, chunkBytes = 1_000_000) {
  const scanner = createJsonScanner(LIMITS);
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; from += chunkBytes) {
    const excess = scanner.scan(bytes.subarray(from, from + chunkBytes));
    if (excess) return excess;
  }
  return undefined;
}

describe('the scanner of raw JSON', () => {
  it.each([
    ['as deep as allowed', '[[[1]]]', undefined],
    ['one level deeper', '[[[[', 'depth'],
    ['deeper through objects', '{"a":{"b":{"c":{', 'depth'],
    ['as many keys as allowed', '{"a":1,"b":1,"c":1,"d":1}', undefined],
    ['one key more', '{"a":1,"b":1,"c":1,"d":1,"e":1}', 'keys'],
    ['keys over several objects', '[{"a":1,"b":1},{"c":1,"d":1,"e":1}]', 'keys'],
    ['as many values as allowed', '[1,2,3,4,5,6]', undefined],
    ['one value more', '[1,2,3,4,5,6,7]', 'values'],
    ['brackets, colons and commas in a string', '"[[[[[[{{{{::::::::,,,,,,,,,"', undefined],
    ['an escaped quote does not end a string', '"\\"[[[[["', undefined],
    ['an escaped backslash does not escape the quote', '"\\\\"[[[[', 'depth'],
    ['closing brackets alone', ']]]]', undefined],
  ])('%s', (_name, text, expected) => {
    for (const chunkBytes of [1, 2, 3, 1_000]) expect(scan(text, chunkBytes)).toBe(expected);
  });

  it('counts in any JSON what a walk over the parsed value counts, wherever it is cut', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.integer({ min: 1, max: 40 }), (value, chunkBytes) => {
        const { depth, keys, values } = measure(value);
        const excess = scan(JSON.stringify(value), chunkBytes);
        const within = depth <= LIMITS.depth && keys <= LIMITS.keys && values <= LIMITS.values;
        expect(excess === undefined).toBe(within);
      }),
      { numRuns: 2_000 },
    );
  });
});

function measure(value: unknown): { depth: number; keys: number; values: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, keys: 0, values: 0 };
  const members = Object.values(value).map(measure);
  const sum = (pick: (member: { keys: number; values: number }) => number) =>
    members.reduce((total, member) => total + pick(member), 0);
  return {
    depth: 1 + Math.max(0, ...members.map(({ depth }) => depth)),
    keys: sum(({ keys }) => keys) + (Array.isArray(value) ? 0 : members.length),
    values: sum(({ values }) => values) + Math.max(0, members.length - 1),
  };
}
