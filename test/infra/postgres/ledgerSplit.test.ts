/** The database splits a price by the same rule as domain/ledger.ts. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { restInUsd, splitPrice } from '../../../domain/ledger.ts';
import { createLedgerWorld, type LedgerWorld } from './ledgerWorld.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld();
});
afterAll(() => world.close());

const amount = fc.oneof(fc.bigInt({ min: 0n, max: 12n }), fc.bigInt({ min: 0n, max: 10n ** 18n }));
const room = fc.option(fc.oneof(amount, fc.bigInt({ min: -9n, max: -1n })), { freq: 3 });
const given = fc.record({
  usd: amount,
  diem: amount,
  freeDiem: amount,
  bundled: amount,
  free: amount,
  keyDiem: room,
  keyUsd: room,
});

it('covers and splits a price by the same rule', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(given, { minLength: 100, maxLength: 400 }), async (cases) => {
      const column = (of: (each: (typeof cases)[number]) => bigint | null) =>
        cases.map((each) => of(each)?.toString() ?? null);
      const { rows } = await world.owner.query<Record<'diem' | 'bundled' | 'usd' | 'due', string | null>>(
        `select s.* from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
            $7::bigint[]) with ordinality as q (usd, diem, free_diem, bundled, free, key_diem, key_usd, ord)
          cross join lateral ledger_split(q.usd, q.diem, q.free_diem, q.bundled, q.free, q.key_diem, q.key_usd) s
          order by q.ord`,
        [
          ...[column(({ usd }) => usd), column(({ diem }) => diem), column(({ freeDiem }) => freeDiem)],
          ...[column(({ bundled }) => bundled), column(({ free }) => free)],
          ...[column(({ keyDiem }) => keyDiem), column(({ keyUsd }) => keyUsd)],
        ],
      );
      for (const [index, each] of cases.entries()) {
        const { diem = '0', bundled = '0', usd = '0', due } = rows[index] ?? {};
        const price = { usd: each.usd, diem: each.diem };
        const means = { diem: each.freeDiem, bundled: each.bundled, usd: each.free };
        const limits = { keyUsd: each.keyUsd ?? undefined, keyDiem: each.keyDiem ?? undefined };
        const split = splitPrice(price, { ...means, ...limits });
        const parts = { diem: BigInt(diem ?? 0), bundled: BigInt(bundled ?? 0), usd: BigInt(usd ?? 0) };
        expect(due ?? undefined).toBe(restInUsd(price, parts.diem)?.toString());
        if (String(parts.bundled + parts.usd) === due) expect(split).toEqual({ outcome: 'covered', ...parts });
        else expect(split.outcome).not.toBe('covered');
      }
    }),
    { numRuns: 20 },
  );
});
