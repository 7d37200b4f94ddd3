/** Thousands of calls across the end of a day and a month, while the database's clock passes it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LimitPeriod } from '../../../domain/ledger.ts';
import { charge, refund } from '../../../infra/postgres/ledger.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from './ledgerWorld.ts';
import { longRun } from './longRun.ts';

const CALLS = longRun(1_500, 10_000);
const LIMIT = 100n;

let world: LedgerWorld;
beforeEach(async () => {
  world = await createLedgerWorld(12);
});
afterEach(async () => {
  await world.expectSound();
  await world.close();
});

/** Far more than fill the limit, however the calls are batched. */
const READINGS = 400;

/** Advances the ledger's clock by a millisecond with each reading, so that it passes `edge` at the 400th. */
async function startClockBefore(edge: string): Promise<void> {
  await world.owner.query(`create sequence test_ticks; grant usage on sequence test_ticks to farebox_app`);
  await world.owner.query(
    `create or replace function ledger_now() returns timestamptz language sql volatile as
     $$ select timestamptz '${edge}' + (nextval('test_ticks') - ${READINGS}) * interval '1 millisecond' $$`,
  );
}

/** Makes this many calls, 48 at a time. */
async function drive(calls: number, act: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let number = next++; number < calls; number = next++) await act(number);
  };
  await Promise.all(Array.from({ length: 48 }, lane));
}

async function untilAfter(at: string): Promise<void> {
  for (;;) {
    const { rows } = await world.owner.query<{ past: boolean }>('select ledger_now() > $1::timestamptz as past', [at]);
    if (rows[0]?.past) return;
  }
}

async function spentByPeriod(keyId: string, period: LimitPeriod): Promise<{ period: string; spent: bigint }[]> {
  const { rows } = await world.owner.query<{ period: string; spent: string }>(
    `select ledger_period_start($2, day)::text as period, -sum(amount) as spent from transfers
     where key_id = $1 and kind = 'charge' group by 1 order by 1`,
    [keyId, period],
  );
  return rows.map((row) => ({ period: row.period, spent: BigInt(row.spent) }));
}

describe('calls across a boundary', () => {
  it.each<[LimitPeriod, string, string, string]>([
    ['EPOCH', '2026-11-22T00:00:00Z', '2026-11-21', '2026-11-22'],
    ['MONTH', '2026-03-01T00:00:00Z', '2026-02-01', '2026-03-01'],
    ['MONTH', '2024-03-01T00:00:00Z', '2024-02-01', '2024-03-01'],
    ['MONTH', '2027-01-01T00:00:00Z', '2026-12-01', '2027-01-01'],
  ])('of a period (%s, %s) fill both periods exactly to the limit', async (period, edge, before, after) => {
    const account = await world.account({ usd: 1_000_000n });
    const key = await world.key(account, { usd: LIMIT, period });
    const ledger = world.ledger();
    await startClockBefore(edge);
    const outcomes: string[] = [];
    const act = async (number: number) => {
      const request = order(account, both(1n), { keyId: key });
      if (number % 4 === 0) {
        outcomes.push((await charge(world.pool, request)).outcome);
        return;
      }
      const held = await ledger.hold({ ...request, ttlMs: 60_000 });
      outcomes.push(held.outcome);
      if (held.outcome !== 'held') return;
      await ledger.settle({ operationId: request.operationId, price: both(1n) });
    };
    await drive(CALLS / 2, act);
    await untilAfter(edge);
    await drive(CALLS / 2, act);
    expect(await spentByPeriod(key, period)).toEqual([
      { period: before, spent: LIMIT },
      { period: after, spent: LIMIT },
    ]);
    expect(outcomes.filter((outcome) => outcome !== 'key_limit')).toHaveLength(200);
  });

  it('of LIFETIME fill the limit once', async () => {
    const account = await world.account({ usd: 1_000_000n });
    const key = await world.key(account, { usd: LIMIT, period: 'LIFETIME' });
    await startClockBefore('2027-01-01T00:00:00Z');
    const act = async () => {
      await charge(world.pool, order(account, both(1n), { keyId: key }));
    };
    await drive(CALLS / 10, act);
    await untilAfter('2027-01-01T00:00:00Z');
    await drive(CALLS / 5, act);
    const spent = await spentByPeriod(key, 'LIFETIME');
    expect(spent.map((row) => row.spent)).toEqual([LIMIT]);
  });

  it('of a day use the diem of both days exactly, each granted once', async () => {
    const account = await world.account({ diem: 70n });
    await startClockBefore('2026-11-22T00:00:00Z');
    const ledger = world.ledger();
    const act = async (number: number) => {
      const request = order(account, both(1n));
      if (number % 2 === 0) await charge(world.pool, request);
      else if ((await ledger.hold({ ...request, ttlMs: 60_000 })).outcome === 'held') {
        await ledger.settle({ operationId: request.operationId, price: both(1n) });
      }
    };
    await drive(CALLS / 5, act);
    await untilAfter('2026-11-22T00:00:00Z');
    await drive(CALLS / 5, act);
    const { rows } = await world.owner.query(
      `select day::text, -sum(amount) filter (where kind = 'charge') as spent,
         sum(amount) filter (where kind = 'grant') as granted, count(*) filter (where kind = 'grant') as grants
       from transfers where account_id = $1 group by day order by day`,
      [account],
    );
    const day = { spent: '70', granted: '70', grants: '1' };
    expect(rows).toEqual([
      { day: '2026-11-21', ...day },
      { day: '2026-11-22', ...day },
    ]);
  });

  it('of a day refund into the day of the charge, on either side of the boundary', async () => {
    const account = await world.account({ usd: 1_000_000n });
    const key = await world.key(account);
    await startClockBefore('2026-11-22T00:00:00Z');
    const charged: string[] = [];
    const act = async (number: number) => {
      const request = order(account, both(3n), { keyId: key });
      charged.push(request.operationId);
      await charge(world.pool, request);
      const operationId = charged[(number * 7) % charged.length] ?? '';
      await refund(world.pool, { operationId, chargeOperationId: operationId, reason: 'x' });
    };
    await drive(CALLS / 5, act);
    await untilAfter('2026-11-22T00:00:00Z');
    await drive(CALLS / 5, act);
    for (const operationId of charged) {
      await refund(world.pool, { operationId, chargeOperationId: operationId, reason: 'x' });
    }
    const { rows } = await world.owner.query<{ day: string; used: string }>(
      'select day::text, usd_used as used from key_days where key_id = $1 order by day',
      [key],
    );
    expect(rows).toEqual([
      { day: '2026-11-21', used: '0' },
      { day: '2026-11-22', used: '0' },
    ]);
    expect(await world.balance(account)).toMatchObject({ usd: 1_000_000n });
  });
});
