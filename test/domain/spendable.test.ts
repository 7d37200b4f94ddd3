import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitPrice } from '../../domain/ledger.ts';
import { type LimitRoom, spendableWithin } from '../../domain/spendable.ts';

const NONE: LimitRoom = { usd: undefined, diem: undefined };
const FUNDS = { usd: 100n, bundled: 30n, diem: 10n };

it.each<[string, LimitRoom[], { usd: bigint; bundled: bigint; diem: bigint }]>([
  ['the whole without a limit', [NONE, NONE], FUNDS],
  ['the whole where the limits are wider', [{ usd: 131n, diem: 11n }, NONE], FUNDS],
  [
    'bundled credit first within a limit in USD',
    [{ usd: 40n, diem: undefined }],
    { usd: 10n, bundled: 30n, diem: 10n },
  ],
  ['bundled credit alone', [{ usd: 20n, diem: undefined }], { usd: 0n, bundled: 20n, diem: 10n }],
  [
    'the least of both keys',
    [
      { usd: 50n, diem: 9n },
      { usd: 45n, diem: 4n },
    ],
    { usd: 15n, bundled: 30n, diem: 4n },
  ],
  [
    'the least of both keys, each in its currency',
    [
      { usd: 35n, diem: 9n },
      { usd: 45n, diem: 4n },
    ],
    { usd: 5n, bundled: 30n, diem: 4n },
  ],
  [
    'nothing beyond a limit that was lowered below its use',
    [{ usd: -5n, diem: -1n }],
    { usd: 0n, bundled: 0n, diem: 0n },
  ],
])('leaves %s', (_what, rooms, expected) => {
  expect(spendableWithin(FUNDS, rooms)).toEqual(expected);
});

describe('the reported spendable amount of a key', () => {
  const amount = fc.bigInt({ min: 0n, max: 200n });
  const room = fc.option(fc.bigInt({ min: -20n, max: 200n }), { nil: undefined });
  const account = fc.record({ usd: amount, bundled: amount, diem: amount });

  it('is exactly what the ledger would let it spend, in each currency', () => {
    fc.assert(
      fc.property(account, room, room, amount, (funds, keyUsd, keyDiem, price) => {
        const told = spendableWithin(funds, [{ usd: keyUsd, diem: keyDiem }]);
        const covers = (each: { usd: bigint; diem: bigint }) =>
          splitPrice(each, { ...funds, keyUsd, keyDiem }).outcome === 'covered';
        expect(covers({ usd: price, diem: 0n })).toBe(price <= told.usd + told.bundled);
        if (price > 0n) expect(covers({ usd: 0n, diem: price })).toBe(price <= told.diem);
      }),
      { numRuns: 2_000 },
    );
  });

  it("never grows with a further limit, and never exceeds the account's funds", () => {
    const rooms = fc.array(fc.record({ usd: room, diem: room }), { maxLength: 3 });
    fc.assert(
      fc.property(account, rooms, (funds, limits) => {
        const told = spendableWithin(funds, limits);
        const before = spendableWithin(funds, limits.slice(1));
        for (const currency of ['usd', 'bundled', 'diem'] as const) {
          expect(told[currency]).toBeGreaterThanOrEqual(0n);
          expect(told[currency]).toBeLessThanOrEqual(funds[currency]);
        }
        expect(told.usd + told.bundled).toBeLessThanOrEqual(before.usd + before.bundled);
        expect(told.diem).toBeLessThanOrEqual(before.diem);
      }),
    );
  });
});
