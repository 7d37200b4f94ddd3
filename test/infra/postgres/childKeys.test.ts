/** Parent and child keys: concurrent holds, charges and refunds never exceed a key limit, also across midnights. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LimitPeriod, periodStart } from '../../../domain/ledger.ts';
import type { Ledger } from '../../../infra/postgres/createLedger.ts';
import { expireHolds } from '../../../infra/postgres/holdExpiry.ts';
import { charge, refund } from '../../../infra/postgres/ledger.ts';
import { both, createLedgerWorld, type KeyLimits, type LedgerWorld, order } from './ledgerWorld.ts';
import { longRun } from './longRun.ts';

const RUNS = longRun(15, 300);
const FIRST_DAY = Date.parse('2026-11-28T12:00:00Z');

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld(12);
});
afterAll(() => world.close());

interface Family {
  accountId: string;
  /** The parent first, then its children. */
  keys: { id: string; limits: KeyLimits }[];
}

async function newFamily(parent: KeyLimits, children: KeyLimits[]): Promise<Family> {
  const accountId = await world.account({ usd: 10_000n, bundled: 20n, diem: 30n });
  const parentId = await world.key(accountId, parent);
  const keys = [{ id: parentId, limits: parent }];
  for (const limits of children) keys.push({ id: await world.key(accountId, limits, parentId), limits });
  return { accountId, keys };
}

interface Spent {
  key: string;
  day: string;
  usd: number;
  diem: number;
}

/** Spending by key and day, from transfers and open holds alone; a parent includes its children. */
async function spentBy(family: Family): Promise<Spent[]> {
  const { rows } = await world.owner.query<Spent>(
    `select who.key, moved.day::text, coalesce(sum(amount) filter (where currency <> 'diem'), 0)::int as usd,
        coalesce(sum(amount) filter (where currency = 'diem'), 0)::int as diem
      from (
        select key_id, day, currency, -amount as amount from transfers where account_id = $1 and key_id is not null
        union all
        select key_id, day, part.currency, part.amount from operations
          cross join lateral (values ('usd', held_usd + held_bundled), ('diem', held_diem)) part (currency, amount)
          where account_id = $1 and kind = 'charge' and state = 'held' and key_id is not null
      ) moved
      join api_keys k on k.id = moved.key_id
      cross join lateral (values (k.id), (k.parent_id)) who (key)
      where who.key is not null
      group by who.key, moved.day`,
    [family.accountId],
  );
  return rows;
}

async function expectWithinCaps(family: Family): Promise<void> {
  const spent = await spentBy(family);
  for (const { id, limits } of family.keys) {
    const totals = new Map<string, { usd: number; diem: number }>();
    for (const { key, day, usd, diem } of spent) {
      if (key !== id) continue;
      const period = periodStart(limits.period ?? 'EPOCH', day) ?? 'ever';
      const before = totals.get(period) ?? { usd: 0, diem: 0 };
      totals.set(period, { usd: before.usd + usd, diem: before.diem + diem });
    }
    for (const total of totals.values()) {
      expect(total.usd).toBeLessThanOrEqual(Number(limits.usd ?? 1_000_000n));
      expect(total.diem).toBeLessThanOrEqual(Number(limits.diem ?? 1_000_000n));
    }
  }
}

interface Act {
  kind: 'hold' | 'charge' | 'settle' | 'release' | 'refund';
  /** Selects the paying key, the ledger and the earlier operation. */
  pick: number;
  amount: number;
}

const limits: fc.Arbitrary<KeyLimits> = fc.record({
  usd: fc.option(fc.bigInt({ min: 0n, max: 40n }), { nil: undefined, freq: 4 }),
  diem: fc.option(fc.bigInt({ min: 0n, max: 20n }), { nil: undefined, freq: 4 }),
  period: fc.constantFrom<LimitPeriod>('EPOCH', 'MONTH', 'LIFETIME'),
});
const act: fc.Arbitrary<Act> = fc.record({
  kind: fc.constantFrom('hold', 'hold', 'hold', 'charge', 'charge', 'settle', 'release', 'refund'),
  pick: fc.nat({ max: 10_000 }),
  amount: fc.nat({ max: 12 }),
});
/** Concurrent acts, and the time until the next round. */
const round = fc.record({
  acts: fc.array(act, { minLength: 4, maxLength: 30 }),
  hours: fc.constantFrom(0, 0, 1, 13, 40),
});

interface Stage {
  family: Family;
  ledgers: Ledger[];
  /** Ids of operations that may exist. */
  ids: string[];
  refused: number;
}

async function perform(stage: Stage, { kind, pick, amount }: Act): Promise<void> {
  const { family, ids } = stage;
  const ledger = stage.ledgers[pick % stage.ledgers.length] as Ledger;
  const keyId = family.keys[pick % family.keys.length]?.id ?? null;
  const price = pick % 3 === 0 ? { usd: BigInt(amount), diem: 0n } : both(BigInt(amount));
  const known = ids[pick % Math.max(1, ids.length)] ?? randomUUID();
  if (kind === 'settle') await ledger.settle({ operationId: known, price });
  else if (kind === 'release') await ledger.release({ operationId: known });
  else if (kind === 'refund') await giveBack(known, pick % 2 === 0 ? { amount: price } : {});
  else {
    const request = order(family.accountId, price, { keyId });
    ids.push(request.operationId);
    const { outcome } = await (kind === 'hold'
      ? ledger.hold({ ...request, ttlMs: 3_600_000 })
      : charge(world.pool, request));
    if (outcome === 'key_limit') stage.refused += 1;
  }
}

function giveBack(chargeId: string, more: { amount?: ReturnType<typeof both> } = {}) {
  return refund(world.pool, {
    operationId: `${chargeId}:r`,
    chargeOperationId: chargeId,
    reason: 'x',
    ...more,
  });
}

describe('a parent key and its children', () => {
  it(
    'never exceed any of their limits, and their counters equal their transfers and holds',
    async () => {
      let refused = 0;
      const histories = fc.tuple(
        limits,
        fc.array(limits, { minLength: 1, maxLength: 3 }),
        fc.array(round, { minLength: 2, maxLength: 6 }),
      );
      await fc.assert(
        fc.asyncProperty(histories, async ([parent, children, rounds]) => {
          let nowMs = FIRST_DAY;
          await world.setClock(new Date(nowMs).toISOString());
          const family = await newFamily(parent, children);
          const ledgers = [world.ledger(), world.ledger({ maxBatch: 3, maxInFlight: 3 })];
          const stage: Stage = { family, ledgers, ids: [], refused: 0 };
          for (const { acts, hours } of rounds) {
            await Promise.all(acts.map((one) => perform(stage, one)));
            await expectWithinCaps(family);
            nowMs += hours * 3_600_000;
            await world.setClock(new Date(nowMs).toISOString());
            await expireHolds(world.pool, 1_000);
          }
          refused += stage.refused;
          // Releases forgotten holds, so that a later history does not find them overdue.
          await Promise.all(stage.ids.map((operationId) => ledgers[0]?.release({ operationId })));
          await world.expectSound();
        }),
        { numRuns: RUNS },
      );
      expect(refused).toBeGreaterThan(RUNS);
    },
    RUNS * 4_000,
  );

  it("are admitted exactly what the parent's limit covers by two concurrent ledgers", async () => {
    await world.setClock('2027-01-10T12:00:00Z');
    const family = await newFamily({ usd: 500n, period: 'MONTH' }, [{}, { usd: 400n }, { usd: 30n }]);
    const ledgers = [world.ledger(), world.ledger({ maxBatch: 7, maxInFlight: 4 })];
    const outcomes = await Promise.all(
      Array.from({ length: 600 }, async (_, index) => {
        const keyId = family.keys[index % family.keys.length]?.id ?? null;
        const request = order(family.accountId, { usd: 10n, diem: 0n }, { keyId });
        const ledger = ledgers[index % 2] as Ledger;
        return (await ledger.hold({ ...request, ttlMs: 90 * 86_400_000 })).outcome;
      }),
    );
    const admitted = outcomes.filter((outcome) => outcome === 'held').length;
    const limited = outcomes.filter((outcome) => outcome === 'key_limit').length;
    expect([admitted, limited]).toEqual([50, 550]);
    await world.expectSound();
  });

  it.each([
    ['EPOCH', 10n],
    ['MONTH', 10n],
    ['LIFETIME', 4n],
  ] as const)('refund into the period of the charge, for both keys: %s', async (period, next) => {
    await world.setClock('2027-01-31T23:59:59Z');
    const family = await newFamily({ usd: 10n, period }, [{ usd: 10n, period }]);
    const keyId = family.keys[1]?.id ?? null;
    const spend = async (usd: bigint, who = keyId) => {
      const request = order(family.accountId, { usd, diem: 0n }, { keyId: who });
      return { ...request, ...(await charge(world.pool, request)) };
    };
    const late = await spend(10n);
    expect(late.outcome).toBe('charged');
    await world.setClock('2027-02-01T00:00:01Z');
    await giveBack(late.operationId, { amount: { usd: 4n, diem: 0n } });
    // A new period has exactly its whole limit; a lifetime limit has what was refunded.
    expect((await spend(next + 1n)).outcome).toBe('key_limit');
    expect((await spend(next)).outcome).toBe('charged');
    expect((await spend(1n, family.keys[0]?.id)).outcome).toBe('key_limit');
    const january = (await spentBy(family)).filter(({ day }) => day === '2027-01-31');
    expect(january.map(({ usd }) => usd)).toEqual([6, 6]);
    await world.expectSound();
  });

  it('report the currency of the limit that refused, whichever key has it', async () => {
    await world.setClock('2027-03-01T12:00:00Z');
    const family = await newFamily({ usd: 3n, diem: 5n }, [{ usd: 50n, diem: 50n }]);
    const keyId = family.keys[1]?.id ?? null;
    const of = (price: { usd: bigint; diem: bigint }) => charge(world.pool, order(family.accountId, price, { keyId }));
    expect(await of({ usd: 4n, diem: 0n })).toEqual({ outcome: 'key_limit', currency: 'usd' });
    expect(await of({ usd: 0n, diem: 6n })).toEqual({ outcome: 'key_limit', currency: 'diem' });
    expect(await of({ usd: 0n, diem: 5n })).toMatchObject({ outcome: 'charged' });
  });
});

describe('the parent of a key', () => {
  it('never changes, is of the same account, and has no parent', async () => {
    const { accountId, keys } = await newFamily({}, [{}]);
    const [parent, child] = keys.map(({ id }) => id);
    await expect(world.key(accountId, {}, child)).rejects.toMatchObject({ code: '23514' });
    await expect(world.key(await world.account(), {}, parent)).rejects.toMatchObject({ code: '23503' });
    for (const change of ['null', 'id']) {
      const sql = `update api_keys set parent_id = ${change} where id = $1`;
      await expect(world.pool.query(sql, [child])).rejects.toMatchObject({ code: '23001' });
    }
    const admin = `update api_keys set key_type = 'ADMIN' where id = $1`;
    await expect(world.pool.query(admin, [child])).rejects.toMatchObject({ code: '23514' });
  });
});
