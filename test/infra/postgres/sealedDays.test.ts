/** Past days are checked once and sealed: later checks use the seals, and a full check compares them with the rows. */
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeAccounts, writeCharges } from '../../../bench/booksData.ts';
import { charge, refund } from '../../../infra/postgres/ledger.ts';
import { runLedgerCheck } from '../../../infra/postgres/ledgerCheck.ts';
import { both, createLedgerWorld, type LedgerWorld, order, SNAPSHOT, storedJob } from './ledgerWorld.ts';
import { longRun } from './longRun.ts';

let world: LedgerWorld;
let account: string;
let key: string;
/** Charge of the first day. */
let first: string;
/** Job whose output was stored on the second day. */
let job: string;

beforeEach(async () => {
  world = await createLedgerWorld();
  await world.setClock('2026-03-01T10:00:00Z');
  account = await world.account({ usd: 1_000n, bundled: 20n, diem: 7n });
  key = await world.key(account, { usd: 900n, period: 'MONTH' });
  first = await sell(30n);
  await world.setClock('2026-03-02T10:00:00Z');
  await sell(40n);
  job = await storedJob(world, { accountId: account, keyId: key });
  await world.setClock('2026-03-04T10:00:00Z');
  await sell(50n);
});
afterEach(() => world.close());

async function sell(amount: bigint): Promise<string> {
  const sold = order(account, both(amount), { keyId: key });
  await charge(world.pool, sold);
  return sold.operationId;
}

const seal = () => runLedgerCheck(world.pool, { seal: true });
const quick = async () => (await runLedgerCheck(world.pool)).broken.map(({ invariant }) => invariant);
const full = async () => (await runLedgerCheck(world.pool, { full: true })).broken.map(({ invariant }) => invariant);

/** Runs the statements without the protection of the tables. */
async function plant(...statements: string[]): Promise<void> {
  const client = new pg.Client(world.databaseUrl);
  await client.connect();
  try {
    await client.query('set session_replication_role = replica');
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

describe('sealing', () => {
  it('takes the days that are over, once, without a gap', async () => {
    expect(await seal()).toEqual({ broken: [], sealed: ['2026-03-01', '2026-03-02', '2026-03-03'] });
    expect(await seal()).toEqual({ broken: [], sealed: [] });
    await world.setClock('2026-03-05T01:59:00Z');
    expect((await seal()).sealed).toEqual([]);
    await world.setClock('2026-03-05T02:00:00Z');
    expect((await seal()).sealed).toEqual(['2026-03-04']);
    expect(await full()).toEqual([]);
  });

  it('records the sums of a day', async () => {
    await seal();
    const { rows } = await world.owner.query(
      'select day::text, transfers, operations, sums from sealed_days order by day',
    );
    expect(rows[0]).toEqual({
      ...{ day: '2026-03-01', transfers: '6', operations: '4' },
      sums: {
        ...{ 'bundled charge': '-20', 'bundled grant': '20', 'diem charge': '-7', 'diem grant': '7' },
        ...{ 'usd charge': '-3', 'usd grant': '1000' },
      },
    });
    expect(rows[2]).toMatchObject({ day: '2026-03-03', transfers: '0', sums: {} });
  });

  it('waits for an open hold, which may be settled on the next day', async () => {
    await world.setClock('2026-03-04T23:59:50Z');
    const ledger = world.ledger();
    const late = { ...order(account, both(9n), { keyId: key }), ttlMs: 86_400_000 };
    await ledger.hold(late);
    await world.setClock('2026-03-05T12:00:00Z');
    expect((await seal()).sealed).toEqual(['2026-03-01', '2026-03-02', '2026-03-03']);
    await ledger.settle({ operationId: late.operationId, price: both(8n) });
    expect(await seal()).toEqual({ broken: [], sealed: ['2026-03-04'] });
    expect(await full()).toEqual([]);
    await world.setClock('2026-03-07T00:00:00Z');
    expect(await seal()).toEqual({ broken: [], sealed: ['2026-03-05'] });
    expect(await full()).toEqual([]);
  });

  it('assigns a refund to its own day, and compares the usage of the day of the charge', async () => {
    await seal();
    await refund(world.pool, { operationId: 'late', chargeOperationId: first, reason: 'x' });
    expect(await seal()).toEqual({ broken: [], sealed: [] });
    expect(await full()).toEqual([]);
    await plant(`update key_days set usd_used = usd_used + 1 where day = '2026-03-01'`);
    expect(await quick()).toEqual([expect.stringMatching(/^I3 stored usage/)]);
    await plant(`update key_days set usd_used = usd_used - 1 where day = '2026-03-01'`);
    await world.setClock('2026-03-05T02:00:00Z');
    expect((await seal()).sealed).toEqual(['2026-03-04']);
    expect(await full()).toEqual([]);
  });

  it('is skipped while the books are damaged', async () => {
    await plant('update accounts set usd_posted = usd_posted + 1');
    expect((await seal()).sealed).toEqual([]);
  });

  it('covers each row once, with several days at a time or one day in parts', async () => {
    const charges = longRun(1_000, 201_000);
    await writeAccounts(world.databaseUrl, '2026-03-05T00:00:00Z');
    for (const day of ['2026-03-05', '2026-03-06', '2026-03-07']) {
      const [from, to] = [`${day}T00:00:00Z`, `${day}T23:59:00Z`];
      await writeCharges(world.databaseUrl, { charges, from, to, hasLines: true });
    }
    await world.setClock('2026-03-08T02:00:00Z');
    expect(await seal()).toMatchObject({ broken: [], sealed: { length: 7 } });
    const { rows } = await world.owner.query(
      `select s.day::text, s.transfers, s.operations, s.transfers_hash, s.operations_hash, t.count as "rows", t.hash,
          o.count as "rowsOfOperations", o.hash as "hashOfOperations"
        from sealed_days s
        cross join lateral (select count(*), coalesce(sum(hashtextextended(hash_record_extended(row(id, created_at, operation_id, kind,
          account_id, house, currency, amount, day, key_id, details, sold), 0)::text, 0)), 0) as hash
          from transfers x where (x.created_at at time zone 'UTC')::date = s.day) t
        cross join lateral (select count(*), coalesce(sum(hashtextextended(hash_record_extended(row(operation_id, kind, account_id,
          state, day, key_id, parent_key_id, price_usd, price_diem, held_diem, held_bundled, held_usd, diem, bundled, usd,
          created_at), 0)::text, 0)), 0)
          as hash from operations x where (x.created_at at time zone 'UTC')::date = s.day) o
        order by s.day`,
    );
    expect(rows.map(({ transfers }) => Number(transfers))).toEqual([
      ...[6, 4, 0, 3],
      ...[charges + 100, charges, charges],
    ]);
    for (const row of rows) {
      expect(row).toMatchObject({
        ...{ transfers: row.rows, transfers_hash: row.hash },
        ...{ operations: row.rowsOfOperations, operations_hash: row.hashOfOperations },
      });
    }
    expect(await full()).toEqual([]);
  });

  it('happens once for several concurrent checks', async () => {
    const reports = await Promise.all([seal(), seal(), seal()]);
    expect(reports.flatMap(({ broken }) => broken)).toEqual([]);
    expect(reports.flatMap(({ sealed }) => sealed).sort()).toEqual(['2026-03-01', '2026-03-02', '2026-03-03']);
    expect(await full()).toEqual([]);
  });

  it.each(['sealed_days', 'sealed_sums', 'sealed_balances'])(
    "cannot be undone by the services' role: %s",
    async (table) => {
      await seal();
      for (const act of [`delete from ${table}`, `update ${table} set day = day`]) {
        await expect(world.pool.query(act)).rejects.toThrow('permission denied');
        await expect(world.owner.query(act)).rejects.toThrow('append-only');
      }
      await expect(world.pool.query(`truncate ${table}`)).rejects.toThrow('permission denied');
      const insert = `insert into ${table} select * from ${table}`;
      await expect(world.pool.query(insert)).rejects.toThrow('permission denied');
    },
  );
});

describe('after sealing', () => {
  beforeEach(async () => {
    await seal();
  });

  it.each([
    'update accounts set usd_posted = usd_posted - 1',
    'update accounts set bundled_posted = bundled_posted + 1',
  ])('a quick check finds a balance that differs from the sealed one and later transfers: %s', async (damage) => {
    await plant(damage);
    expect(await quick()).toEqual([expect.stringMatching(/^I3 stored balance/)]);
  });

  it.each([
    [
      'usage of a sealed day that a limit still counts',
      'I3 stored usage',
      () => `update key_days set usd_used = 0 where day = '2026-03-01'`,
    ],
    ['removed usage of a sealed day', 'I3 stored usage', () => `delete from key_days where day = '2026-03-02'`],
    ['a hold on a sealed day', 'I4 what is held', () => `update key_days set usd_held = 1 where day = '2026-03-01'`],
    [
      'sealed sums that a limit still counts',
      'I3 stored usage',
      () =>
        `update sealed_sums set amount = amount + 1 where day = '2026-03-01' and currency = 'usd' and key_id is not null`,
    ],
    [
      'changed sealed sums',
      'I15 a sealed balance',
      () => `update sealed_sums set amount = amount + 1 where day = '2026-03-02' and currency = 'usd'`,
    ],
    [
      'a changed sealed balance',
      'I15 a sealed balance',
      () => `update sealed_balances set bundled = bundled + 1 where day = '2026-03-01'`,
    ],
    ['a removed sealed balance', 'I15 a sealed balance', () => `delete from sealed_balances where day = '2026-03-01'`],
    ['a removed seal between others', 'I15 seals', () => `delete from sealed_days where day = '2026-03-02'`],
    ['a removed first seal', 'I15 seals', () => `delete from sealed_days where day = '2026-03-01'`],
    ['a changed seal', 'I15 seals', () => `update sealed_days set transfers_hash = 1 where day = '2026-03-02'`],
    ...['2026-03-04', '2999-01-01'].map((day): [string, string, () => string] => [
      `a seal of ${day}, which is not over`,
      'I15 seals',
      () => `insert into sealed_days (day, transfers, operations, jobs, sums, transfers_hash, operations_hash, jobs_hash,
          sums_digest, chain)
        select '${day}', 0, 0, 0, '{}', 0, 0, 0, sums_digest, chain from sealed_days limit 1`,
    ]),
  ])('a quick check finds %s', async (_name, invariant, damage) => {
    expect(await quick()).toEqual([]);
    await plant(damage());
    expect(await quick()).toContainEqual(expect.stringContaining(invariant));
  });

  it('a quick check finds a refund of a job of a sealed day whose output is stored', async () => {
    await refund(world.pool, { operationId: job, chargeOperationId: job, reason: 'x' });
    expect(await quick()).toEqual([expect.stringMatching(/^I6 a job/)]);
  });

  it('a changed lifetime limit is checked against the sealed days without reading their transfers', async () => {
    const limited = await world.key(account, { usd: 100n, period: 'LIFETIME' });
    const spend = (amount: bigint) => charge(world.pool, order(account, both(amount), { keyId: limited }));
    await spend(60n);
    await world.setClock('2026-03-05T02:00:00Z');
    expect((await seal()).sealed).toEqual(['2026-03-04']);
    await world.setClock('2026-03-05T03:00:00Z');
    await spend(40n);
    await world.setClock('2026-03-05T04:00:00Z');
    await world.setLimits(limited, { usd: 500n, period: 'LIFETIME' });
    expect(await quick()).toEqual([]);
    // 53 of the sealed day and 33 of the open day; the rest was paid in diem.
    await plant(`update key_limit_changes set limit_usd = 80 where key_id = '${limited}'`);
    expect(await full()).toEqual([expect.stringMatching(/^I8/)]);
    await plant(`delete from transfers where created_at < '2026-03-05'`);
    expect(await quick()).toEqual([expect.stringMatching(/^I8/)]);
  });

  const FIRST = `created_at < '2026-03-02'`;
  it.each([
    ['a removed transfer', `delete from transfers where kind = 'charge' and currency = 'usd' and ${FIRST}`],
    ['a changed amount', `update transfers set amount = amount - 1 where kind = 'charge' and ${FIRST}`],
    ['a changed entry', `update transfers set details = details || '{"requestId": "x"}' where ${FIRST}`],
    ['a changed time', `update transfers set created_at = created_at + interval '1 second' where ${FIRST}`],
    [
      'an added transfer',
      `insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, details)
        select created_at, 'more', kind, account_id, house, currency, amount, day, details from transfers where ${FIRST}
        limit 1`,
    ],
    ['a removed operation', `delete from operations where kind = 'charge' and ${FIRST}`],
    ['a changed operation', `update operations set price_usd = price_usd + 1 where kind = 'charge' and ${FIRST}`],
    ['a removed job', `delete from jobs`],
    ['an operation of an empty day', `update operations set created_at = '2026-03-03' where ${FIRST}`],
    ['rows before the first sealed day', `update transfers set created_at = '2026-02-01' where ${FIRST}`],
    ['a changed seal', `update sealed_days set transfers = transfers + 1 where day = '2026-03-02'`],
    ['a removed seal', `delete from sealed_days where day = '2026-03-02'`],
    ['changed sealed sums', `update sealed_sums set booked_day = booked_day - 1 where day = '2026-03-02'`],
    ['a changed sealed balance', `update sealed_balances set vcu = vcu + 1 where day = '2026-03-01'`],
  ])('a full check finds %s', async (_name, damage) => {
    expect(await full()).toEqual([]);
    await plant(damage);
    expect(await full()).toContainEqual(expect.stringMatching(/^I15/));
  });

  // The hash of a record is linear in its columns, so the plain sum of two rows would not change.
  it('a full check finds values swapped between two rows of a day', async () => {
    const sold: string[] = [];
    for (let count = 0; count < 9; count += 1) {
      const snapshot = { ...SNAPSHOT, requestId: `request ${count}` };
      const charged = order(account, both(1n), { keyId: key, snapshot });
      await charge(world.pool, charged);
      sold.push(charged.operationId);
    }
    await world.setClock('2026-03-05T02:00:00Z');
    expect((await seal()).sealed).toEqual(['2026-03-04']);
    for (const [index, one] of sold.slice(1).entries()) {
      const exchange = `update transfers t set details = o.details from transfers o where t.operation_id <> o.operation_id
        and t.operation_id in ('${sold[index]}', '${one}') and o.operation_id in ('${sold[index]}', '${one}')`;
      await plant(exchange);
      expect(await full()).toContainEqual(expect.stringMatching(/^I15/));
      await plant(exchange);
    }
    expect(await full()).toEqual([]);
  });

  it('a full check finds damaged usage of a sealed day', async () => {
    await plant(`update key_days set usd_used = usd_used + 1 where day = '2026-03-01'`);
    expect(await full()).toContainEqual(expect.stringMatching(/^I3 stored usage/));
  });
});
