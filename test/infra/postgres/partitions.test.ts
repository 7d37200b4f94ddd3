/** Partitions: none of them can be written directly, and no month is missing. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordAct } from '../../../infra/postgres/audit.ts';
import { insertJob } from '../../../infra/postgres/jobs.ts';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { preparePartitions } from '../../../infra/postgres/partitions.ts';
import { createLedgerWorld, type LedgerWorld } from './ledgerWorld.ts';
import { newJob } from './newJob.ts';

const TABLES = ['audit_events', 'job_events', 'job_changes'];
const APPEND_ONLY = ['audit_events', 'transfers'];

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld();
});
afterAll(async () => {
  await world.expectSound();
  await world.close();
});

async function partitionsOf(table: string): Promise<string[]> {
  const { rows } = await world.owner.query<{ name: string }>(
    'select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass order by 1',
    [table],
  );
  return rows.map(({ name }) => name);
}

/** Reads a table in a transaction that stays open, as `pg_dump` does. */
async function readTable(of: LedgerWorld, table: string): Promise<pg.Client> {
  const client = new pg.Client(of.databaseUrl);
  await client.connect();
  await client.query('begin');
  await client.query(`select from ${table} limit 1`);
  return client;
}

/** Partition names of this month and the following three: 2026_11. */
function preparedMonths(): string[] {
  const now = new Date();
  return [0, 1, 2, 3].map((ahead) => {
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead));
    return month.toISOString().slice(0, 7).replace('-', '_');
  });
}

describe('the partitions of a table', () => {
  it.each(TABLES)('%s: this month, the following three, and one for all other times', async (table) => {
    const months = preparedMonths().map((month) => `${table}_${month}`);
    expect(await partitionsOf(table)).toEqual(expect.arrayContaining([...months, `${table}_other`]));
  });

  it('transfers: this month, the following three, one for earlier and one for later times', async () => {
    const months = preparedMonths().map((month) => `transfers_${month}`);
    expect(await partitionsOf('transfers')).toEqual([...months, 'transfers_earlier', 'transfers_later']);
  });

  it.each([...TABLES, 'transfers'])("%s: are written by the services' role through the table only", async (table) => {
    for (const partition of await partitionsOf(table)) {
      for (const statement of [`delete from ${partition}`, `insert into ${partition} select * from ${table}`]) {
        await expect(world.pool.query(statement)).rejects.toMatchObject({ code: '42501' });
      }
    }
  });

  it.each(APPEND_ONLY)('%s: cannot be changed directly by their owner either', async (table) => {
    for (const partition of await partitionsOf(table)) {
      for (const statement of [`delete from ${partition}`, `truncate ${partition}`]) {
        await expect(world.owner.query(statement)).rejects.toThrow('append-only');
      }
    }
  });
});

it('stores operations in four partitions by the hash of their id, written through the table only', async () => {
  const partitions = [0, 1, 2, 3].map((part) => `operations_${part}`);
  expect(await partitionsOf('operations')).toEqual(partitions);
  for (const partition of partitions) {
    await expect(world.pool.query(`update ${partition} set usd = 0`)).rejects.toMatchObject({
      code: '42501',
    });
  }
});

describe('the preparation of partitions', () => {
  it('creates missing partitions once, for any number of processes', async () => {
    const other = await createLedgerWorld();
    await other.setClock('2031-05-17T00:00:00Z');
    const made = await Promise.all([1, 2, 3].map(() => preparePartitions(other.pool)));
    expect(made.reduce((sum, count) => sum + count, 0)).toBe(4 * (TABLES.length + 1));
    await other.setClock('2031-06-01T00:00:00Z');
    expect(await preparePartitions(other.pool)).toBe(TABLES.length + 1);
    await other.expectSound();
    await other.close();
  });

  it('prepares each table in turn while another one is in use', async () => {
    const other = await createLedgerWorld();
    await other.setClock('2031-05-17T00:00:00Z');
    const reader = await readTable(other, 'job_changes');
    await expect(preparePartitions(other.pool)).rejects.toMatchObject({ code: '55P03' });
    const { rows } = await other.owner.query<{ name: string }>(
      `select inhparent::regclass::text as name from pg_inherits where inhrelid::regclass::text like '%_2031_08'
        order by 1`,
    );
    expect(rows.map(({ name }) => name)).toEqual(['audit_events', 'job_events', 'transfers']);
    await reader.end();
    expect(await preparePartitions(other.pool)).toBe(4);
    await other.close();
  });

  it.each(['audit_events', 'job_events', 'job_changes'])(
    'delays nobody for seconds while a dump reads %s',
    async (table) => {
      const other = await createLedgerWorld();
      await other.setClock('2031-05-17T00:00:00Z');
      const dump = await readTable(other, table);
      const isOver = { value: false };
      const prepared = preparePartitions(other.pool).catch((error: unknown) => error);
      const over = prepared.then(() => {
        isOver.value = true;
      });
      const client = await other.owner.connect();
      // Less than the 5 s limit of other lock waits.
      await client.query(`set lock_timeout = '4s'`);
      do await client.query(`select from ${table} limit 1`);
      while (!isOver.value);
      client.release(true);
      await over;
      expect(await prepared).toMatchObject({ code: '55P03' });
      await dump.end();
      await other.close();
    },
  );

  it('leaves out a month whose rows came before its partition', async () => {
    const other = await createLedgerWorld();
    await other.setClock('2032-01-31T12:00:00Z');
    const accountId = await other.account();
    const act = { actor: 'operator', action: 'key.create', targetId: 'x', accountId, changes: {} } as const;
    await recordAct(other.pool, act);
    expect(await preparePartitions(other.pool)).toBe(4 * (TABLES.length + 1) - 1);
    await recordAct(other.pool, act);
    const { rows } = await other.owner.query('select from audit_events where account_id = $1', [accountId]);
    expect(rows.length).toBeGreaterThanOrEqual(2);
    await other.close();
  });
});

describe('transfers of unprepared months', () => {
  const PLACES = `select created_at::date::text as day, tableoid::regclass::text as place from transfers
    order by created_at`;
  it('are accepted, stay together, and later months get their own partitions', async () => {
    const other = await createLedgerWorld();
    const first = `transfers_${await firstUnprepared(other)}`;
    await other.setClock('2032-01-31T12:00:00Z');
    await other.account({ usd: 5n });
    expect((await other.owner.query(PLACES)).rows).toEqual([{ day: '2032-01-31', place: 'transfers_later' }]);
    // Four for each table, except the month of the grant, of which transfers and audit already have rows.
    expect(await preparePartitions(other.pool)).toBe(4 * (TABLES.length + 1) - 2);
    await other.setClock('2032-02-01T00:00:00Z');
    await other.account({ usd: 6n });
    await other.setClock('2040-01-01T00:00:00Z');
    await other.account({ usd: 7n });
    expect((await other.owner.query(PLACES)).rows).toEqual([
      { day: '2032-01-31', place: first },
      { day: '2032-02-01', place: 'transfers_2032_02' },
      { day: '2040-01-01', place: 'transfers_later' },
    ]);
    await other.expectSound();
    await other.close();
  });

  it('are left for the next run while somebody reads, so that writers do not wait', async () => {
    const other = await createLedgerWorld();
    await other.setClock('2032-01-31T12:00:00Z');
    const reader = await other.owner.connect();
    await reader.query('begin');
    await reader.query('select from transfers');
    await expect(preparePartitions(other.pool)).rejects.toMatchObject({ code: '55P03' });
    await reader.query('rollback');
    reader.release();
    // The other tables already have theirs.
    expect(await preparePartitions(other.pool)).toBe(4);
    await other.close();
  });

  async function firstUnprepared(other: LedgerWorld): Promise<string> {
    const { rows } = await other.owner.query<{ month: string }>(
      `select to_char(lower at time zone 'UTC', 'YYYY_MM') as month from partition_range('transfers_later')`,
    );
    return rows[0]?.month ?? '';
  }
});

it("stores a job's id in the partition of the month in which it was made", async () => {
  const accountId = await world.account({ usd: 10n });
  const job = newJob(accountId);
  expect(await insertJob(world.pool, job, [{ event: 'charged' }])).toBe(true);
  const { rows } = await world.owner.query<{ table: string }>(
    `select tableoid::regclass::text as table from job_events where queue_id = $1
      union select tableoid::regclass::text from job_changes where queue_id = $1 order by 1`,
    [job.queueId],
  );
  const month = new Date().toISOString().slice(0, 7).replace('-', '_');
  expect(rows.map(({ table }) => table)).toEqual([`job_changes_${month}`, `job_events_${month}`]);
  await world.owner.query('delete from jobs where queue_id = $1', [job.queueId]);
});

describe('the ledger check', () => {
  it.each([
    ['whose trigger is gone', 'drop trigger audit_events_append_only on audit_events_other'],
    ['that the services may change', 'grant delete on audit_events_other to farebox_app'],
    ['of transfers whose trigger is gone', 'drop trigger transfers_append_only on transfers_later'],
    ['of transfers that the services may change', 'grant update on transfers_earlier to farebox_app'],
  ])('reports a partition %s', async (_name, statement) => {
    const other = await createLedgerWorld();
    await other.owner.query(statement);
    const broken = await checkLedger(other.pool);
    expect(broken).toMatchObject([{ invariant: expect.stringMatching(/^I2 /) }]);
    expect(JSON.stringify(broken)).toContain(/ on (\w+)/.exec(statement)?.[1]);
    await other.close();
  });
});
