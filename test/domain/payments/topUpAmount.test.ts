import { expect, test } from 'vitest';
import { readUnits, refuseAmount } from '../../../domain/payments/topUpAmount.ts';

const HUGE = 2n ** 256n - 1n;

test.each([
  ['5000000', undefined],
  ['5000001', undefined],
  ['10000000000', undefined],
  ['4999999', 'AMOUNT_TOO_LOW'],
  ['0', 'AMOUNT_TOO_LOW'],
  ['10000000001', 'AMOUNT_TOO_HIGH'],
  [String(HUGE), 'AMOUNT_TOO_HIGH'],
  ['9'.repeat(78), 'AMOUNT_TOO_HIGH'],
  ['9'.repeat(79), 'INVALID_AMOUNT'],
  ['', 'INVALID_AMOUNT'],
  ['5e6', 'INVALID_AMOUNT'],
  ['1e30', 'INVALID_AMOUNT'],
  ['-5000000', 'INVALID_AMOUNT'],
  ['+5000000', 'INVALID_AMOUNT'],
  ['05000000', 'INVALID_AMOUNT'],
  ['5000000.0', 'INVALID_AMOUNT'],
  ['5_000_000', 'INVALID_AMOUNT'],
  ['5,000,000', 'INVALID_AMOUNT'],
  [' 5000000', 'INVALID_AMOUNT'],
  ['5000000\n', 'INVALID_AMOUNT'],
  ['0x4c4b40', 'INVALID_AMOUNT'],
  ['٥٠٠٠٠٠٠', 'INVALID_AMOUNT'],
  ['５０００００0', 'INVALID_AMOUNT'],
  ['NaN', 'INVALID_AMOUNT'],
  ['Infinity', 'INVALID_AMOUNT'],
  [5_000_000, 'INVALID_AMOUNT'],
  [null, 'INVALID_AMOUNT'],
  [undefined, 'INVALID_AMOUNT'],
  [['5000000'], 'INVALID_AMOUNT'],
  [{}, 'INVALID_AMOUNT'],
  [true, 'INVALID_AMOUNT'],
])('returns for %j with six decimals: %s', (value, code) => {
  expect(refuseAmount(value, 6)?.code).toBe(code);
});

test('reads every whole number as itself, and refuses every other text', () => {
  for (let bits = 0n; bits < 256n; bits += 1n) {
    const units = 2n ** bits;
    expect(readUnits(String(units))).toBe(units);
    for (const wrong of [`0${units}`, `-${units}`, `${units}.0`, `${units}e1`, `${units} `]) {
      expect(readUnits(wrong)).toBeUndefined();
    }
  }
});
