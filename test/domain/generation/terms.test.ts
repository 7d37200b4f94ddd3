import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { termsOf, unsupported, wrongField } from '../../../domain/generation/terms.ts';
import { charactersOf } from '../../../domain/speech/price.ts';

const line = (each: { usd: number; diem: number }, thousandths: bigint, factor?: number) =>
  termsOf({ sku: 'film-second', unit: 'second', each, thousandths, ...(factor !== undefined && { factor }) });

describe('the terms of an order', () => {
  it.each([
    [{ usd: 0.02, diem: 0.02 }, 5_000n, undefined, '5', 100_000_000n, 100_000_000n],
    [{ usd: 0.02, diem: 0.03 }, 1_000n, undefined, '1', 20_000_000n, 30_000_000n],
    [{ usd: 0.02, diem: 0.02 }, 5_000n, 2, '5', 200_000_000n, 200_000_000n],
    [{ usd: 0.02, diem: 0.02 }, 1_500n, 1.5, '1.5', 45_000_000n, 45_000_000n],
    // A third of a nano unit, rounded up once.
    [{ usd: 1e-9, diem: 0 }, 333n, undefined, '0.333', 1n, 0n],
    [{ usd: 1e-9, diem: 0 }, 333n, 3, '0.333', 1n, 0n],
    [{ usd: 1e-9, diem: 1e-9 }, 1_001n, undefined, '1.001', 2n, 2n],
    [{ usd: 0, diem: 0 }, 9_000n, 4, '9', 0n, 0n],
    [{ usd: 0.1, diem: 0.1 }, 0n, undefined, '0', 0n, 0n],
  ])('for %j, %d thousandths with the factor %s, are %s units for %d and %d', (...row) => {
    const [each, thousandths, factor, units, usd, diem] = row;
    const terms = line(each, thousandths, factor);
    expect(terms).toMatchObject({ sku: 'film-second', unit: 'second', units, price: { usd, diem } });
  });

  it.each([
    [undefined, 20_000_000n],
    [1, 20_000_000n],
    [2, 40_000_000n],
    [1.25, 25_000_000n],
    [1.0004, 20_000_000n],
  ])('contain the price of a unit with its factor %s', (factor, perUnit) => {
    expect(line({ usd: 0.02, diem: 0.02 }, 1_000n, factor).pricePerUnitUsd).toBe(perUnit);
  });

  it('write units as a decimal without trailing zeros', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 12n }), (thousandths) => {
        const { units } = line({ usd: 0.01, diem: 0.01 }, thousandths);
        expect(Number(units)).toBe(Number(thousandths) / 1_000);
        expect(units).toMatch(/^(0|[1-9]\d*)(\.\d{0,2}[1-9])?$/);
      }),
    );
  });
});

describe('a field that a model does not accept', () => {
  it('is named with the reason', () => {
    expect(wrongField('prompt', 'Required')).toEqual({ ok: false, field: 'prompt', message: 'Required' });
    expect(unsupported('loop')).toEqual({
      ok: false,
      field: 'loop',
      message: 'This model does not support loop',
    });
  });
});

describe('the character count of a text', () => {
  it.each([
    ['', 0],
    ['abc', 3],
    ['äöü', 3],
    ['日本語', 3],
    ['😀😀', 2],
    ['a\u0301', 2],
    ['👨‍👩‍👧', 5],
    ['\ud83d', 1],
  ])('of %j is %i', (text, count) => {
    expect(charactersOf(text)).toBe(count);
  });
});
