import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatNano, nanoToNumber, nanoToNumberDown } from '../../domain/money.ts';

/** What a number prints as, in nano units; the amounts here print without an exponent. */
function printed(units: number): bigint {
  const [whole = '0', fraction = ''] = String(units).split('.');
  return BigInt(whole + fraction.padEnd(12, '0')) / 1_000n;
}

describe('an amount as a number', () => {
  it('is what its decimal text reads as, whatever its size and sign', () => {
    const amounts = fc.oneof(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }),
      fc.bigInt({ min: 2n ** 53n - 10n, max: 2n ** 53n + 10n }),
    );
    fc.assert(
      fc.property(amounts, (amount) => nanoToNumber(amount) === Number(formatNano(amount))),
      { numRuns: 20_000 },
    );
  });
});

describe('a balance as a number', () => {
  it.each([0n, 1n, 99_999_999n, 100_000_000n, 1_230_000_001n, 999_999_999_999_999n])(
    'is exact where a number can be: %s',
    (amount) => {
      expect(nanoToNumberDown(amount)).toBe(Number(formatNano(amount)));
    },
  );

  it('never prints as more than there is, and as the next less than a double apart', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 10n ** 12n, max: 2n ** 63n - 1n }), (amount) => {
        const shown = nanoToNumberDown(amount);
        expect(printed(shown)).toBeLessThanOrEqual(amount);
        expect(nanoToNumber(amount) - shown).toBeLessThanOrEqual(shown * Number.EPSILON);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is rounded down where the nearest number is above', () => {
    const amount = 9_223_372_036_854_775_807n;
    expect(printed(nanoToNumber(amount))).toBeGreaterThan(amount);
    expect(printed(nanoToNumberDown(amount))).toBeLessThan(amount);
  });
});
