/** Operations in partitions by hash: the same rows and outcomes as in one table. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { charge, refund } from '../../../infra/postgres/ledger.ts';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { databaseBefore } from './databaseBefore.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from './ledgerWorld.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld();
});
afterAll(async () => {
  await world.expectSound();
  await world.close();
});

describe('operations', () => {
  const NAME = '0070_operations_by_hash';

  it('have four partitions by the hash of their id, which the services write through the table only', async () => {
    const partitions = [0, 1, 2, 3].map((part) => `operations_${part}`);
    const { rows } = await world.owner.query<{ name: string }>(
      "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'operations'::regclass order by 1",
    );
    expect(rows.map(({ name }) => name)).toEqual(partitions);
    for (const partition of partitions) {
      await expect(world.pool.query(`update ${partition} set usd = 0`)).rejects.toMatchObject({
        code: '42501',
      });
    }
  });

  it('from before their partitions stay, and open connections go on with them', async () => {
    const url = await databaseBefore(NAME);
    const older = await createLedgerWorld(1, url);
    const accountId = await older.account({ usd: 90n, diem: 3n });
    const ledger = older.ledger();
    const [held, charged, undone] = [9n, 8n, 7n].map((price) => order(accountId, both(price)));
    if (!held || !charged || !undone) throw new Error('unreachable');
    const hold = { ...held, ttlMs: 60_000 };
    await ledger.hold(hold);
    for (const one of [charged, undone]) await charge(older.pool, one);
    await refund(older.pool, { operationId: 'r1', chargeOperationId: undone.operationId, reason: 'x' });
    const read = async () =>
      (await older.owner.query('select o::text from operations o order by o::text')).rows;
    const before = await read();

    expect((await migrate(url)).applied).toContain(NAME);
    expect(await read()).toEqual(before);
    expect(await ledger.hold(hold)).toMatchObject({ outcome: 'held', replayed: true });
    const settle = { operationId: held.operationId, price: both(5n) };
    expect(await ledger.settle(settle)).toMatchObject({ outcome: 'settled', replayed: false });
    expect(await charge(older.pool, charged)).toMatchObject({ outcome: 'charged', replayed: true });
    const again = { operationId: 'r2', chargeOperationId: charged.operationId, reason: 'x' };
    expect(await refund(older.pool, again)).toMatchObject({ outcome: 'refunded', replayed: false });
    await older.expectSound();
    await older.close();
  });
});
