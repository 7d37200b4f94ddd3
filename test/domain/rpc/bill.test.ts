/** Credits, and their cost at the configured price. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Means, splitPrice } from '../../../domain/ledger.ts';
import { costOfCredits, creditsOfParts, priceOfCredits } from '../../../domain/rpc/bill.ts';

const USUAL = { usd: 700n, diem: 700n };

it('writes the cost of credits with eight decimals', () => {
  expect(costOfCredits(20, USUAL)).toBe('0.00001400');
  expect(costOfCredits(20, { usd: 1_000n, diem: 0n })).toBe('0.00002000');
});

it('derives the credits of a bill from its parts, whatever currencies paid it', () => {
  const price = fc.record({ usd: fc.bigInt(1n, 10n ** 6n), diem: fc.bigInt(1n, 10n ** 6n) });
  const funds = fc.record({ diem: fc.bigInt(0n, 10n ** 9n), bundled: fc.bigInt(0n, 10n ** 9n) });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100_000 }), price, funds, (credits, credit, { diem, bundled }) => {
      const means: Means = { diem, bundled, usd: 10n ** 18n, keyUsd: undefined, keyDiem: undefined };
      const split = splitPrice(priceOfCredits(credits, credit), means);
      if (split.outcome !== 'covered') throw new Error(split.outcome);
      const parts = (['diem', 'bundled', 'usd'] as const).map((currency) => {
        return { currency, amount: split[currency] };
      });
      expect(Math.abs(creditsOfParts(parts, credit) - credits)).toBeLessThanOrEqual(1);
    }),
  );
});

it('is exact at equal prices of both currencies', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100_000 }), fc.bigInt(0n, 10n ** 8n), (credits, diem) => {
      const total = BigInt(credits) * 700n;
      const paidInDiem = diem > total ? total : diem;
      const parts = [
        { currency: 'diem' as const, amount: paidInDiem },
        { currency: 'usd' as const, amount: total - paidInDiem },
      ];
      expect(creditsOfParts(parts, USUAL)).toBe(credits);
    }),
  );
});
