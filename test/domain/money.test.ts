import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatNano,
  formatNanoFixed,
  lineCost,
  nanoFromDecimalNumber,
  nanoFromNumber,
  nanoToNumber,
  nanoToNumberDown,
  parseNano,
} from '../../domain/money.ts';

describe('a decimal text', () => {
  it.each([
    ['0', 0n],
    ['12', 12_000_000_000n],
    ['0.1', 100_000_000n],
    ['0.000000001', 1n],
    ['0.0000007', 700n],
    ['007.5', 7_500_000_000n],
    ['999999999999.999999999', 999_999_999_999_999_999_999n],
  ])('"%s" is %d nano units', (text, nano) => {
    expect(parseNano(text)).toBe(nano);
  });

  it.each([
    ...['', '.', '.5', '5.', '-1', '+1', '1e3', '1,5', '1_000', ' 1', '1 ', '1\n', '0x1', 'NaN', 'Infinity'],
    ...['0.0000000001', '1000000000000', '١'],
  ])('%j is not an amount', (text) => {
    expect(parseNano(text)).toBeUndefined();
  });

  it('is parsed without loss', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 21n - 1n }), (amount) => {
        expect(parseNano(formatNano(amount))).toBe(amount);
      }),
    );
  });
});

describe('a number of whole units', () => {
  it.each([
    [0, 0n, 0n],
    [-0, 0n, 0n],
    [0.1, 100_000_000n, 100_000_000n],
    [1e-9, 1n, 1n],
    [7e-7, 700n, 700n],
    [123.456, 123_456_000_000n, 123_456_000_000n],
    // 0.30000000000000004: rounded, and refused if all decimals must count.
    [0.1 + 0.2, 300_000_000n, undefined],
    [1e-10, 0n, undefined],
    [4.9e-10, 0n, undefined],
    [5.1e-10, 1n, undefined],
    [1.000_000_000_4, 1_000_000_000n, undefined],
    [1_000_000.000_000_001, 1_000_000_000_000_001n, 1_000_000_000_000_001n],
    [1e12, undefined, undefined],
    [1e13, undefined, undefined],
    [-1, undefined, undefined],
    [-1e-12, undefined, undefined],
    [Number.NaN, undefined, undefined],
    [Number.POSITIVE_INFINITY, undefined, undefined],
  ])('%d is %s nano units, or %s if it must be exact', (units, rounded, exact) => {
    expect(nanoFromNumber(units)).toBe(rounded);
    expect(nanoFromDecimalNumber(units)).toBe(exact);
  });

  it('converts to nano units and back without change, for every price of nine decimals', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (amount) => {
        expect(nanoFromNumber(nanoToNumber(amount))).toBe(amount);
        expect(nanoFromDecimalNumber(nanoToNumber(amount))).toBe(amount);
      }),
    );
  });
});

describe('an amount as text', () => {
  it.each([
    [0n, '0'],
    [1n, '0.000000001'],
    [-1n, '-0.000000001'],
    [1_000_000_000n, '1'],
    [1_500_000_000n, '1.5'],
    [-12_340_000_000n, '-12.34'],
    [10n ** 20n + 10n, '100000000000.00000001'],
  ])('%d is exactly "%s"', (amount, text) => {
    expect(formatNano(amount)).toBe(text);
  });

  it.each([
    [1_234_567_890n, 4, '1.2346', '1.2345'],
    [1_234_549_999n, 4, '1.2345', '1.2345'],
    [1_234_550_000n, 4, '1.2346', '1.2345'],
    [999_999_999n, 2, '1.00', '0.99'],
    [999_999_999n, 0, '1', '0'],
    [499_999_999n, 0, '0', '0'],
    [500_000_000n, 0, '1', '0'],
    [7n, 9, '0.000000007', '0.000000007'],
    [0n, 2, '0.00', '0.00'],
    [-1_235_000_000n, 2, '-1.24', '-1.23'],
  ])('%d with %i decimals is a charge of %s and a balance of %s', (amount, decimals, charge, balance) => {
    expect(formatNanoFixed(amount, decimals, 'half-up')).toBe(charge);
    expect(formatNanoFixed(amount, decimals, 'down')).toBe(balance);
  });

  it('of a balance is never above the balance', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 19n }), fc.integer({ min: 0, max: 9 }), (amount, decimals) => {
        const shown = parseNano(formatNanoFixed(amount, decimals, 'down')) ?? -1n;
        expect(shown).toBeLessThanOrEqual(amount);
        expect(amount - shown).toBeLessThan(10n ** BigInt(9 - decimals));
      }),
    );
  });
});

describe('a bill line', () => {
  it.each([
    [0n, 5n, 1_000n, 0n],
    [1n, 1n, 1_000_000n, 1n],
    [999_999n, 1n, 1_000_000n, 1n],
    [1_000_000n, 1n, 1_000_000n, 1n],
    [1_000_001n, 1n, 1_000_000n, 2n],
    [3n, 700n, 1n, 2_100n],
    [2n, 0n, 3n, 0n],
  ])('of %d × %d per %d is rounded up once, to %d', (quantity, price, per, cost) => {
    expect(lineCost(quantity, price, per)).toBe(cost);
  });

  it('costs no more in one piece than in two, and at most one nano unit less', () => {
    const amount = fc.bigInt({ min: 0n, max: 10n ** 12n });
    fc.assert(
      fc.property(amount, amount, amount, fc.bigInt({ min: 1n, max: 10n ** 6n }), (one, other, price, per) => {
        const whole = lineCost(one + other, price, per);
        const parts = lineCost(one, price, per) + lineCost(other, price, per);
        expect(parts - whole).toBeGreaterThanOrEqual(0n);
        expect(parts - whole).toBeLessThanOrEqual(1n);
        expect(whole * per).toBeGreaterThanOrEqual((one + other) * price);
      }),
    );
  });
});

/** Nano units of the printed number; the amounts here print without an exponent. */
function printed(units: number): bigint {
  const [whole = '0', fraction = ''] = String(units).split('.');
  return BigInt(whole + fraction.padEnd(12, '0')) / 1_000n;
}

describe('an amount as a number', () => {
  it('equals its parsed decimal text, for any size and sign', () => {
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
    'is exact if a number can be: %s',
    (amount) => {
      expect(nanoToNumberDown(amount)).toBe(Number(formatNano(amount)));
    },
  );

  it('never prints above the balance, and less than one double below it', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 10n ** 12n, max: 2n ** 63n - 1n }), (amount) => {
        const shown = nanoToNumberDown(amount);
        expect(printed(shown)).toBeLessThanOrEqual(amount);
        expect(nanoToNumber(amount) - shown).toBeLessThanOrEqual(shown * Number.EPSILON);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is rounded down if the nearest number is above it', () => {
    const amount = 9_223_372_036_854_775_807n;
    expect(printed(nanoToNumber(amount))).toBeGreaterThan(amount);
    expect(printed(nanoToNumberDown(amount))).toBeLessThan(amount);
  });
});
