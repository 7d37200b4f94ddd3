/** Two resolutions while their hold is being written: neither finds it when taking locks, both find it later. */
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { both, createLedgerWorld, type LedgerWorld, order, SNAPSHOT } from './ledgerWorld.ts';

const GATE = 30;
const PRICE = 10n;

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld();
});
afterAll(async () => {
  await world.expectSound();
  await world.close();
});

/** Makes readers of the ledger's clock wait while the gate is closed: between their locks and the reading. */
async function putGate(): Promise<void> {
  await world.owner.query(
    `create or replace function ledger_now() returns timestamptz language plpgsql volatile as $$ begin
       perform pg_advisory_lock_shared(${GATE});
       perform pg_advisory_unlock_shared(${GATE});
       return clock_timestamp();
     end $$`,
  );
}

async function untilAtGate(count: number): Promise<void> {
  for (;;) {
    const { rows } = await world.owner.query<{ count: number }>(
      `select count(*)::int as count from pg_locks where locktype = 'advisory' and objid = ${GATE} and not granted
       and database = (select oid from pg_database where datname = current_database())`,
    );
    if (rows[0]?.count === count) return;
  }
}

it.each(['settled', 'released'] as const)('resolves a hold once, and both calls learn it: %s', async (second) => {
  const account = await world.account({ usd: 100n });
  // Without another hold, the held amount would fall below zero, and that check alone would refuse the second call.
  await world.ledger().hold({ ...order(account, both(50n)), ttlMs: 60_000 });
  const { operationId } = order(account, both(PRICE));
  const [writer, keeper] = [new pg.Client(world.databaseUrl), new pg.Client(world.databaseUrl)];
  await Promise.all([writer.connect(), keeper.connect()]);
  try {
    await putGate();
    await writer.query('begin');
    await writer.query(
      `select outcome from ledger_hold(array[$1], array[$2::uuid], array[null::uuid], array[${PRICE}::bigint],
         array[0::bigint], array[60000::bigint], array[$3::jsonb])`,
      [operationId, account, JSON.stringify(SNAPSHOT)],
    );
    await keeper.query(`select pg_advisory_lock(${GATE})`);
    const [one, other] = [world.ledger({ maxInFlight: 1 }), world.ledger({ maxInFlight: 1 })];
    const told = Promise.all([
      one.settle({ operationId, price: both(PRICE) }),
      second === 'settled' ? other.settle({ operationId, price: both(PRICE) }) : other.release({ operationId }),
    ]);
    await untilAtGate(2);
    await writer.query('commit');
    await keeper.query(`select pg_advisory_unlock(${GATE})`);

    const outcomes = await told;
    const [first] = outcomes.filter((each) => 'replayed' in each && !each.replayed);
    expect(outcomes.map((each) => 'replayed' in each && each.replayed).sort()).toEqual([false, true]);
    expect(new Set(outcomes.map(({ outcome }) => outcome)).size).toBe(1);
    const taken = first?.outcome === 'settled' ? PRICE : 0n;
    expect(await world.balance(account)).toMatchObject({ usd: 50n - taken });
  } finally {
    await Promise.all([writer.end(), keeper.end()]);
  }
});
