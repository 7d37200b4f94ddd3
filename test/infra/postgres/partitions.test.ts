/** Monthly partitions: nothing can be changed through one, none is missing, and no repetition is new across a month's end. */
import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordAct } from '../../../infra/postgres/audit.ts';
import { claimIdempotencyKey } from '../../../infra/postgres/idempotency.ts';
import { recordEvents, timelineOf } from '../../../infra/postgres/jobEvents.ts';
import { insertJob, type NewJob } from '../../../infra/postgres/jobs.ts';
import { charge, grant, refund, topUp } from '../../../infra/postgres/ledger.ts';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { preparePartitions } from '../../../infra/postgres/partitions.ts';
import { timeOrderedId } from '../../../infra/timeOrderedId.ts';
import { services } from '../../harness/services.ts';
import { databaseOf } from '../../harness/template.ts';
import { both, createLedgerWorld, type LedgerWorld, order, SNAPSHOT } from './ledgerWorld.ts';

const TABLES = ['audit_events', 'job_events', 'job_changes'];

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

describe('the partitions of a table', () => {
  it.each(TABLES)('%s: this month, the three that follow, and one for all else', async (table) => {
    const now = new Date();
    const months = [0, 1, 2, 3].map((ahead) => {
      const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead));
      return `${table}_${month.toISOString().slice(0, 7).replace('-', '_')}`;
    });
    expect(await partitionsOf(table)).toEqual(expect.arrayContaining([...months, `${table}_other`]));
  });

  it.each(TABLES)(
    '%s: cannot be written by the role of the services but through the table',
    async (table) => {
      for (const partition of await partitionsOf(table)) {
        for (const statement of [
          `delete from ${partition}`,
          `insert into ${partition} select * from ${table}`,
        ]) {
          await expect(world.pool.query(statement)).rejects.toMatchObject({ code: '42501' });
        }
      }
    },
  );

  it('of the audit: cannot be changed by their owner either', async () => {
    for (const partition of await partitionsOf('audit_events')) {
      for (const statement of [`delete from ${partition}`, `truncate ${partition}`]) {
        await expect(world.owner.query(statement)).rejects.toThrow('append-only');
      }
    }
  });
});

describe('preparing partitions', () => {
  it('makes what is missing, once, however many processes ask', async () => {
    const other = await createLedgerWorld();
    await other.setClock('2031-05-17T00:00:00Z');
    const made = await Promise.all([1, 2, 3].map(() => preparePartitions(other.pool)));
    expect(made.sort()).toEqual([0, 0, 4 * TABLES.length]);
    await other.setClock('2031-06-01T00:00:00Z');
    expect(await preparePartitions(other.pool)).toBe(TABLES.length);
    await other.close();
  });

  it('leaves a month alone whose rows came before its partition', async () => {
    const other = await createLedgerWorld();
    await other.setClock('2032-01-31T12:00:00Z');
    const accountId = await other.account();
    const act = { actor: 'operator', action: 'key.create', targetId: 'x', accountId, changes: {} } as const;
    await recordAct(other.pool, act);
    expect(await preparePartitions(other.pool)).toBe(4 * TABLES.length - 1);
    await recordAct(other.pool, act);
    const { rows } = await other.owner.query('select from audit_events where account_id = $1', [accountId]);
    expect(rows.length).toBeGreaterThanOrEqual(2);
    await other.close();
  });
});

it('an id of a job lies in the partition of the month in which it was made', async () => {
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

describe('what is repeated after the end of the month', () => {
  let other: LedgerWorld;
  let accountId: string;
  beforeAll(async () => {
    other = await createLedgerWorld();
    await other.setClock('2026-11-30T23:59:59Z');
    accountId = await other.account({ usd: 100n });
  });
  afterAll(async () => {
    await other.expectSound();
    await other.close();
  });

  /** Runs an act before and after the month's end; answers both outcomes. */
  async function acrossTheEnd<T>(act: () => Promise<T>): Promise<[T, T]> {
    await other.setClock('2026-11-30T23:59:59.9Z');
    const first = await act();
    await other.setClock('2026-12-01T00:00:00.1Z');
    return [first, await act()];
  }

  it('is charged once', async () => {
    const one = order(accountId, both(4n));
    const [first, second] = await acrossTheEnd(() => charge(other.pool, one));
    expect([first, second]).toMatchObject([{ replayed: false }, { replayed: true }]);
  });

  it('is held and settled once', async () => {
    const ledger = other.ledger();
    const operationId = randomUUID();
    const held = { ...order(accountId, both(3n)), operationId, ttlMs: 600_000 };
    const holds = await acrossTheEnd(() => ledger.hold(held));
    expect(holds).toMatchObject([{ replayed: false }, { replayed: true, state: 'held' }]);
    const settles = await acrossTheEnd(() => ledger.settle({ operationId, price: both(2n) }));
    expect(settles).toMatchObject([
      { outcome: 'settled', replayed: false },
      { outcome: 'settled', replayed: true },
    ]);
  });

  it('is refunded once', async () => {
    const one = order(accountId, both(5n));
    await charge(other.pool, one);
    const undo = { operationId: randomUUID(), chargeOperationId: one.operationId, reason: 'test' };
    const outcomes = await acrossTheEnd(() => refund(other.pool, undo));
    expect(outcomes).toMatchObject([{ replayed: false }, { replayed: true }]);
  });

  it.each([
    ['topped up', topUp],
    ['granted', grant],
  ] as const)('is %s once', async (_name, credit) => {
    const one = { operationId: randomUUID(), accountId, currency: 'usd', amount: 7n, notes: 'test' } as const;
    const outcomes = await acrossTheEnd(() => credit(other.pool, one));
    expect(outcomes).toEqual([{ replayed: false }, { replayed: true }]);
  });

  it('is ordered once, and told once', async () => {
    const job = newJob(accountId);
    const accepted = await acrossTheEnd(() => insertJob(other.pool, job, [{ event: 'charged' }]));
    expect(accepted).toEqual([true, false]);
    await acrossTheEnd(() => recordEvents(other.pool, job.queueId, [{ event: 'submitted' }]));
    const told = (await timelineOf(other.pool, job.queueId)).map(({ event }) => event);
    expect(told.sort()).toEqual(['charged', 'submitted']);
    await other.owner.query('delete from jobs where queue_id = $1', [job.queueId]);
  });

  it('has one Idempotency-Key', async () => {
    const claim = {
      accountId,
      keyId: null,
      visibleTo: null,
      key: 'once',
      route: '/x',
      bodySha256: Buffer.alloc(32),
      queueId: timeOrderedId(),
    };
    const outcomes = await acrossTheEnd(() => claimIdempotencyKey(other.pool, claim));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['new', 'known']);
  });
});

describe('the check of the ledger', () => {
  it.each([
    ['whose trigger is gone', 'drop trigger audit_events_append_only on audit_events_other'],
    ['that the services may change', 'grant delete on audit_events_other to farebox_app'],
  ])('names a partition %s', async (_name, statement) => {
    const other = await createLedgerWorld();
    await other.owner.query(statement);
    const broken = await checkLedger(other.pool);
    expect(broken).toMatchObject([{ invariant: expect.stringMatching(/^I2 /) }]);
    expect(JSON.stringify(broken)).toContain('audit_events_other');
    await other.close();
  });
});

it('what was written before the partitions is kept, and ids go on from the last one', async () => {
  const url = await databaseBefore('0044_partitions');
  const older = await createLedgerWorld(4, url);
  const act = { actor: 'operator', action: 'key.create', targetId: 'x', changes: {} } as const;
  const accountId = await older.account({ usd: 50n });
  await older.setClock('2026-03-15T12:00:00Z');
  await recordAct(older.pool, { ...act, accountId });
  await older.setClock('2026-05-01T00:00:00Z');
  await recordAct(older.pool, { ...act, accountId });
  const job = { ...newJob(accountId), queueId: randomUUID() };
  await insertJob(older.pool, job, [{ event: 'charged' }]);
  const read = async () => [
    (await older.owner.query('select * from audit_events order by id')).rows,
    (await older.owner.query('select * from job_events')).rows,
    (await older.owner.query('select * from job_changes order by seq')).rows,
  ];
  const before = await read();
  expect(before.map((rows) => rows.length > 0)).toEqual([true, true, true]);
  expect((await migrate(url)).applied).toContain('0044_partitions');
  expect(await read()).toEqual(before);
  await recordAct(older.pool, { ...act, accountId });
  const ids = (await read())[0]?.map(({ id }) => Number(id)) ?? [];
  expect(ids.at(-1)).toBe((ids.at(-2) ?? 0) + 1);
  expect(await preparePartitions(older.pool)).toBe(0);
  await older.owner.query('delete from jobs');
  await older.close();
});

/** A database with the migrations up to one, without it. */
async function databaseBefore(name: string): Promise<string> {
  const database = `older_${randomUUID().slice(0, 8)}`;
  const admin = new pg.Client(services().databaseUrl);
  await admin.connect();
  await admin.query(`create database ${database}`);
  await admin.end();
  const url = databaseOf(services().databaseUrl, database);
  const all = fileURLToPath(new URL('../../../infra/postgres/migrations/', import.meta.url));
  const dir = mkdtempSync(path.join(tmpdir(), 'farebox-migrations-'));
  cpSync(all, dir, { recursive: true, filter: (file) => path.basename(file) < name || file === all });
  const quiet = () => undefined;
  await runner({
    ...{
      databaseUrl: url,
      dir,
      direction: 'up',
      migrationsTable: 'farebox_migrations',
      singleTransaction: true,
    },
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  rmSync(dir, { recursive: true });
  return url;
}

function newJob(accountId: string): NewJob {
  const queueId = timeOrderedId();
  return {
    ...{ queueId, accountId, keyId: null, kind: 'music', modelId: SNAPSHOT.modelId, provider: 'simulator' },
    ...{ requestId: 'r', durationSeconds: 1, priceUsdNano: 1n, chargeId: queueId, deadlineMs: 60_000 },
    acceptBy: Date.now() + 3_600_000,
  };
}
