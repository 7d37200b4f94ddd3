import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonBytes, jsonBytes } from '../../../domain/json/jsonBytes.ts';
import { type JsonLimits, JsonProblem, NO_LIMITS } from '../../../domain/json/jsonLimits.ts';
import { BEGIN, END, JsonReader, MORE, NAME, VALUE } from '../../../domain/json/jsonReader.ts';

const LIMITS = { ...NO_LIMITS, depth: 3, keys: 4, values: 5 };
const RUNS = process.env.FAREBOX_TEST_LONG ? 100_000 : 3_000;

/** All steps of a text read in pieces of this size, and the final problem. */
function stepsOf(text: string, { pieceBytes = 1_000_000, limits = NO_LIMITS as JsonLimits, told = 99 } = {}) {
  const reader = new JsonReader(limits);
  reader.reportedDepth = told;
  const bytes = Buffer.from(text);
  const steps: [string, number, string?][] = [];
  try {
    for (let from = 0, isLast = false; !isLast; from += pieceBytes) {
      isLast = from + pieceBytes >= bytes.length;
      reader.write(new JsonBytes(bytes.subarray(from, from + pieceBytes)), isLast);
      for (let step = reader.next(); step !== MORE; step = reader.next()) {
        const { depth, start, end } = reader;
        if (step === BEGIN) steps.push(['begin', depth, String.fromCharCode(reader.first)]);
        else if (step === END) steps.push(['end', depth, bytes.toString('utf8', end - 1, end)]);
        else steps.push([step === NAME ? 'name' : 'value', depth, bytes.toString('utf8', start, end)]);
      }
    }
    return { steps, problem: undefined };
  } catch (error) {
    if (error instanceof JsonProblem) return { steps, problem: error.problem };
    throw error;
  }
}

/** Limit that a text exceeds. */
function excessOf(text: string, pieceBytes: number) {
  const { problem } = stepsOf(text, { pieceBytes, limits: LIMITS, told: -1 });
  return problem === 'syntax' ? undefined : problem;
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

describe('the JSON reader', () => {
  it('accepts and refuses the same texts as JSON.parse, in pieces of any length', () => {
    const alphabet = fc.constantFrom(...'{}[],:"\\u0019-+.eEtrufalsn \n\u0001é'.split(''));
    const soup = fc.array(alphabet, { maxLength: 12 }).map((letters) => letters.join(''));
    const damaged = fc.tuple(spaced, fc.nat(), alphabet, fc.constantFrom(0, 1)).map(([text, at, letter, gone]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + letter + text.slice(place + gone);
    });
    fc.assert(
      fc.property(fc.oneof(spaced, soup, damaged), fc.integer({ min: 1, max: 40 }), (text, pieceBytes) => {
        // A lone surrogate is not UTF-8 and would change in the encoding.
        fc.pre(Buffer.from(text).toString() === text);
        const { problem } = stepsOf(text, { pieceBytes });
        expect(problem, JSON.stringify(text)).toBe(parses(text) ? undefined : 'syntax');
      }),
      { numRuns: RUNS * 3 },
    );
  });

  it('reports the same steps for pieces of any length', () => {
    fc.assert(
      fc.property(
        spaced,
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: -1, max: 3 }),
        (text, pieceBytes, told) => {
          expect(stepsOf(text, { pieceBytes, told })).toEqual(stepsOf(text, { told }));
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('identifies the member of a value, however its name is escaped and cut', () => {
    const members = {
      names: ['"id":', '"result":'].map(jsonBytes),
      skipped: jsonBytes('"jsonrpc":"2.0"'),
    };
    const text = '{"jsonrpc":"2.0","id":1,"\\u0069d" : 2,"idx":3,"result":4,"jsonrpc":"1.0"}';
    for (let pieceBytes = 1; pieceBytes < 99; pieceBytes += 1) {
      const reader = new JsonReader(NO_LIMITS, members);
      reader.reportedDepth = 1;
      const found: [number, string][] = [];
      for (let from = 0; from < text.length; from += pieceBytes) {
        const isLast = from + pieceBytes >= text.length;
        reader.write(jsonBytes(text.slice(from, from + pieceBytes)), isLast);
        for (let step = reader.next(); step !== MORE; step = reader.next()) {
          if (step === VALUE) found.push([reader.member, text.slice(reader.start, reader.end)]);
        }
      }
      const cut = found.filter(([, value]) => value !== '"2.0"');
      expect(cut).toEqual([
        [0, '1'],
        [0, '2'],
        [-1, '3'],
        [1, '4'],
        [-1, '"1.0"'],
      ]);
    }
  });

  it('reports the bounds of names and values, down to the requested depth', () => {
    expect(stepsOf('{"a":[1,"b"],"c":null}', { told: 1 }).steps).toEqual([
      ['begin', 0, '{'],
      ['name', 1, '"a"'],
      ['begin', 1, '['],
      ['end', 1, ']'],
      ['name', 1, '"c"'],
      ['value', 1, 'null'],
      ['end', 0, '}'],
    ]);
  });
});

describe('the limits of the JSON reader', () => {
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
    ['an escaped backslash does not escape the quote', '["\\\\",[[[[', 'depth'],
    ['closing brackets alone', ']]]]', undefined],
    ['what stands behind a mistake', '][[[[', undefined],
  ])('%s', (_name, text, expected) => {
    for (const chunkBytes of [1, 2, 3, 1_000]) expect(excessOf(text, chunkBytes)).toBe(expected);
  });

  it('count in any JSON what a walk over the parsed value counts, wherever it is cut', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.integer({ min: 1, max: 40 }), (value, chunkBytes) => {
        const { depth, keys, values } = measure(value);
        const excess = excessOf(JSON.stringify(value), chunkBytes);
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
