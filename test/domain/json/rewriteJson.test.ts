/** Lossless JSON: accepts exactly what JSON.parse accepts, except for duplicate names. */
import { describe, expect, it } from 'vitest';
import { jsonBytes } from '../../../domain/json/jsonBytes.ts';
import { JsonProblem, NO_LIMITS } from '../../../domain/json/jsonLimits.ts';
import { rewriteJson } from '../../../domain/json/rewriteJson.ts';

const LIMITS = { ...NO_LIMITS, levels: 8, members: 50 };

function read(text: string, sorted = false): string | JsonProblem {
  try {
    return rewriteJson(jsonBytes(text), LIMITS, sorted);
  } catch (error) {
    if (error instanceof JsonProblem) return error;
    throw error;
  }
}

function written(text: string, sorted = false): string {
  const found = read(text, sorted);
  return found instanceof JsonProblem ? `! ${found.problem}` : found;
}

it.each([
  [' { "a" : [ 1 , true , null ] } ', '{"a":[1,true,null]}'],
  ['12345678901234567890', '12345678901234567890'],
  ['1e400', '1e400'],
  ['-0', '-0'],
  ['1.50', '1.50'],
  ['"\\u0061\\/\\n"', '"a/\\n"'],
  ['"\\ud83d\\ude00"', '"😀"'],
  ['"\\ud800"', '"\\ud800"'],
  ['{"__proto__":1}', '{"__proto__":1}'],
  ['{"2":1,"1":2}', '{"2":1,"1":2}'],
  ['{"a":1,"\\u0061":2}', '! duplicate'],
  ['[{"b":{"a":1,"a":1}}]', '! duplicate'],
  ['[[[[[[[[1]]]]]]]]', '! levels'],
  [`[${'1,'.repeat(50)}1]`, '! members'],
])('rewrites %s as %s', (text, expected) => {
  expect(written(text)).toBe(expected);
});

it('sorts members by name in the canonical form', () => {
  expect(written('{"b":1,"a":{"d":1,"c":[2,1]}}', true)).toBe('{"a":{"c":[2,1],"d":1},"b":1}');
});

describe('a comparison with JSON.parse', () => {
  const PIECES = ['{', '}', '[', ']', ',', ':', '"', '"a"', '"b"', '0', '1', '-', '.', 'e', '+', 'true', 'null'];
  const MORE = [' ', '\t', '\n', '\\', '\\u', '00e9', '\u0001', '\u007f', 'é', '\u2028', '\ufeff', '\v', '\u00a0'];

  it('finds the same texts valid, with the same values', () => {
    let seed = 7;
    const draw = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * below);
    };
    const all = [...PIECES, ...MORE];
    for (let turn = 0; turn < 30_000; turn += 1) {
      const text = Array.from({ length: 1 + draw(9) }, () => all[draw(all.length)]).join('');
      const found = read(text);
      const theirs = attempt(text);
      if (found instanceof JsonProblem) {
        if (found.problem === 'syntax') expect([text, theirs]).toEqual([text, undefined]);
        continue;
      }
      expect([text, theirs]).toEqual([text, { value: JSON.parse(found) }]);
    }
  });

  function attempt(text: string): { value: unknown } | undefined {
    try {
      return { value: JSON.parse(text) };
    } catch {
      return undefined;
    }
  }
});
