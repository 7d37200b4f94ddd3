/** The states of a number accept exactly the texts that JSON.parse reads as a number. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { afterNumber, beginNumber, isHexDigit, isWholeNumber, NO_NUMBER } from '../../../domain/json/jsonNumber.ts';

/** Number of accepted bytes, and whether they are a complete number. */
function walk(text: string): { taken: number; isWhole: boolean } {
  const bytes = Buffer.from(text);
  let state = beginNumber(bytes[0] ?? 0);
  let taken = 0;
  while (state !== NO_NUMBER) {
    taken += 1;
    if (taken === bytes.length) return { taken, isWhole: isWholeNumber(state) };
    state = afterNumber(state, bytes[taken] ?? 0);
  }
  return { taken, isWhole: false };
}

function parsesAsNumber(text: string): boolean {
  try {
    // Surrounding white space is not part of the number.
    return typeof JSON.parse(text) === 'number' && text === text.trim();
  } catch {
    return false;
  }
}

describe('a number', () => {
  it.each(['0', '-0', '7', '10', '-123', '0.5', '1.50', '-0.0', '1e5', '1E5', '1e+5', '1E-05', '0e0', '12.34e56'])(
    '%s is complete',
    (text) => {
      expect(walk(text)).toEqual({ taken: text.length, isWhole: true });
    },
  );

  it.each(['-', '1.', '-1.', '1e', '1E+', '1.5e-', '0.'])('%s is incomplete', (text) => {
    expect(walk(text)).toEqual({ taken: text.length, isWhole: false });
  });

  it.each([
    ['+1', 0],
    ['.5', 0],
    ['e1', 0],
    ['a', 0],
    ['01', 1],
    ['00', 1],
    ['0x1', 1],
    ['-01', 2],
    ['--1', 1],
    ['-.5', 1],
    ['1.e1', 2],
    ['1..5', 2],
    ['1.5.5', 3],
    ['1e1.5', 3],
    ['1e5e5', 3],
    ['1e++5', 3],
    ['1-1', 1],
    ['1_000', 1],
    ['1n', 1],
    ['-Infinity', 1],
  ])('%s is accepted for at most %i bytes', (text, taken) => {
    expect(walk(text)).toEqual({ taken, isWhole: false });
  });

  it('is accepted for exactly the texts that JSON.parse reads as a number', () => {
    const soup = fc.string({ unit: fc.constantFrom(...'0019-+.eE'), minLength: 1, maxLength: 8 });
    const written = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value));
    fc.assert(
      fc.property(fc.oneof(soup, written), (text) => {
        const { taken, isWhole } = walk(text);
        expect(isWhole && taken === text.length, text).toBe(parsesAsNumber(text));
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('a hex digit of an escape', () => {
  it('is one of 22 bytes', () => {
    const found = Array.from({ length: 256 }, (_, byte) => byte).filter(isHexDigit);
    expect(String.fromCharCode(...found)).toBe('0123456789ABCDEFabcdef');
  });
});
