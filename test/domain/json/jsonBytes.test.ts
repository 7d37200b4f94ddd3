/** Reads of four bytes at a time find the same as reads of one byte at a time. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonBytes, jsonBytes } from '../../../domain/json/jsonBytes.ts';

const PLAIN = 0x61;
/** A small alphabet, so that parts are often equal. */
const bytes = fc.array(fc.constantFrom(0x61, 0x62, 0x22, 0xff), { maxLength: 24 }).map((list) => Buffer.from(list));
const byte = fc.nat(255);

describe('bytes of JSON', () => {
  it('match other bytes at a place exactly where these are', () => {
    fc.assert(
      fc.property(bytes, bytes, fc.integer({ min: -3, max: 28 }), (whole, part, at) => {
        const stands = at >= 0 && at + part.length <= whole.length && whole.subarray(at, at + part.length).equals(part);
        expect(new JsonBytes(whole).says(new JsonBytes(part), at)).toBe(stands);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['"jsonrpc":"2.0"', '"jsonrpc":', 0, true],
    ['"jsonrpc":"2.0"', '"2.0"', 10, true],
    ['"jsonrpc":"2.0"', '"2.0"', 11, false],
    ['"jsonrpc":"2.0"', '"2.1"', 10, false],
    ['"id":1', '"id":1,', 0, false],
    ['', '', 0, true],
  ])('of %s match %s at %i: %s', (whole, part, at, isSo) => {
    expect(jsonBytes(whole).says(jsonBytes(part), at)).toBe(isSo);
  });

  it('are equal at two places exactly when a comparison by bytes says so', () => {
    fc.assert(
      fc.property(bytes, fc.nat(24), fc.nat(24), fc.nat(24), (whole, one, other, wanted) => {
        const left = Math.min(one, whole.length);
        const right = Math.min(other, whole.length);
        const length = Math.min(wanted, whole.length - Math.max(left, right));
        const isSame = whole.subarray(left, left + length).equals(whole.subarray(right, right + length));
        expect(new JsonBytes(whole).isSame(left, right, length)).toBe(isSame);
      }),
      { numRuns: 2_000 },
    );
  });

  it('are read as UTF-8 from any offset of a larger buffer', () => {
    const memory = Buffer.from('xxx"é😀"yyy');
    const within = new JsonBytes(memory.subarray(3, memory.length - 3));
    expect(within.text(0, within.length)).toBe('"é😀"');
    expect(within.says(jsonBytes('"é😀"'), 0)).toBe(true);
  });
});

describe('the skip over plain bytes of a string', () => {
  it.each(Array.from({ length: 256 }, (_, value) => value))('stops before byte %i if it is special', (value) => {
    const isSpecial = value < 0x20 || value === 0x22 || value === 0x5c;
    for (let place = 0; place < 4; place += 1) {
      const text = Buffer.alloc(12, PLAIN);
      text[4 + place] = value;
      expect(new JsonBytes(text).afterPlain(0)).toBe(isSpecial ? 4 : 12);
    }
  });

  it('skips no special byte, and stops at most three bytes early', () => {
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 40 }), fc.nat(40), (list, start) => {
        const from = Math.min(start, list.length);
        const special = list.findIndex((each, at) => at >= from && (each < 0x20 || each === 0x22 || each === 0x5c));
        const plainUntil = special < 0 ? list.length : special;
        const stopped = new JsonBytes(Buffer.from(list)).afterPlain(from);
        expect(stopped).toBeLessThanOrEqual(plainUntil);
        expect(plainUntil - stopped).toBeLessThanOrEqual(3);
      }),
      { numRuns: 3_000 },
    );
  });
});
