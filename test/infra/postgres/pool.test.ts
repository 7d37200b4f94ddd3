import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FareboxError } from '../../../domain/errors.ts';
import { asLedgerError, isRetryable, isUnavailable } from '../../../infra/postgres/failures.ts';
import { inTransaction, openPool } from '../../../infra/postgres/pool.ts';
import { createDatabase } from '../../harness/services.ts';

let databaseUrl: string;
let pool: pg.Pool;
let hasty: pg.Pool;
let owner: pg.Pool;
beforeAll(async () => {
  databaseUrl = await createDatabase();
  pool = openPool({ databaseUrl, applicationName: 'pool-test', max: 3, statementTimeoutMs: 60_000 });
  hasty = openPool({ databaseUrl, applicationName: 'hasty', max: 1, statementTimeoutMs: 1_000 });
  owner = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  owner.on('error', () => undefined);
  await owner.query('create table things (id int primary key, n int not null)');
  await owner.query('insert into things select g, 0 from generate_series(1, 10) g');
});
afterAll(() => Promise.all([pool.end(), hasty.end(), owner.end()]));

const bump = (id: number) => `update things set n = n + 1 where id = ${id}`;

describe('a pool', () => {
  it.each([
    ['role', 'farebox_app'],
    ['timezone', 'UTC'],
    ['statement_timeout', '1min'],
    ['lock_timeout', '5s'],
    ['idle_in_transaction_session_timeout', '15s'],
    ['application_name', 'pool-test'],
  ])('connects with %s = %s', async (setting, value) => {
    const { rows } = await pool.query<{ value: string }>('select current_setting($1) as value', [setting]);
    expect(rows[0]?.value).toBe(value);
  });

  it('ends a statement that takes too long, as unavailable', async () => {
    const failure = await hasty.query('select pg_sleep(100)').catch((error: unknown) => error);
    expect(isUnavailable(failure)).toBe(true);
    expect(await hasty.query('select 1 as one')).toMatchObject({ rows: [{ one: 1 }] });
  });

  it('limits the wait for a connection', async () => {
    const small = openPool({ databaseUrl, applicationName: 'x', max: 1, connectTimeoutMs: 3_000 });
    const client = await small.connect();
    const failure = await small.query('select 1').catch((error: unknown) => error);
    expect(isUnavailable(failure)).toBe(true);
    client.release();
    expect(await small.query('select 1 as one')).toMatchObject({ rows: [{ one: 1 }] });
    await small.end();
  });

  it('survives idle connections that break', async () => {
    await Promise.all([1, 2, 3].map(() => pool.query('select 1')));
    await owner.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pool-test'");
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await pool.query('select 1 as one')).toMatchObject({ rows: [{ one: 1 }] });
  });
});

describe('a transaction', () => {
  it('is committed as a whole', async () => {
    const answer = await inTransaction(pool, async (client) => {
      await client.query(bump(1));
      await client.query(bump(2));
      return 'done';
    });
    expect(answer).toBe('done');
    const { rows } = await pool.query('select n from things where id in (1, 2)');
    expect(rows).toEqual([{ n: 1 }, { n: 1 }]);
  });

  it('is rolled back as a whole, and its connection is reused', async () => {
    const failing = inTransaction(pool, async (client) => {
      await client.query(bump(3));
      throw new Error('second thoughts');
    });
    await expect(failing).rejects.toThrow('second thoughts');
    const { rows } = await pool.query('select n from things where id = 3');
    expect(rows).toEqual([{ n: 0 }]);
    expect(pool.waitingCount).toBe(0);
  });

  it('is retried after a deadlock with another one, and both succeed', async () => {
    let meetings = 0;
    const cross = (first: number, second: number) =>
      inTransaction(pool, async (client) => {
        await client.query('set local statement_timeout = 0');
        await client.query(bump(first));
        meetings += 1;
        while (meetings < 2) await new Promise((resolve) => setTimeout(resolve, 2));
        await client.query(bump(second));
      });
    await Promise.all([cross(4, 5), cross(5, 4)]);
    const { rows } = await pool.query('select n from things where id in (4, 5)');
    expect(rows).toEqual([{ n: 2 }, { n: 2 }]);
    expect(meetings).toBeGreaterThan(2);
  });

  it('is given up after four serialization failures', async () => {
    let attempts = 0;
    const failing = inTransaction(pool, async (client) => {
      attempts += 1;
      await client.query("do $$ begin raise exception 'no' using errcode = '40001'; end $$");
    });
    await expect(failing).rejects.toMatchObject({ code: '40001' });
    expect(attempts).toBe(4);
  });

  it('leaves nothing behind in the database or the pool when its connection breaks', async () => {
    const failing = inTransaction(pool, async (client) => {
      await client.query(bump(6));
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      await owner.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
      await client.query(bump(6));
    });
    const failure = await failing.catch((error: unknown) => error);
    expect(isUnavailable(failure)).toBe(true);
    const { rows } = await pool.query('select n from things where id = 6');
    expect(rows).toEqual([{ n: 0 }]);
    const states = await Promise.all(
      [1, 2, 3].map(() => pool.query("select count(*) from pg_stat_activity where state like 'idle in%'")),
    );
    for (const state of states) expect(state.rows).toEqual([{ count: '0' }]);
  });
});

describe('a database error', () => {
  const database = (code: string) => Object.assign(new pg.DatabaseError('x', 1, 'error'), { code });
  const network = (code: string) => Object.assign(new Error('x'), { code });

  it.each<[string, unknown, boolean, boolean]>([
    ['serialization', database('40001'), true, false],
    ['deadlock', database('40P01'), true, false],
    ['lock timeout', database('55P03'), false, true],
    ['statement timeout', database('57014'), false, true],
    ['shutdown', database('57P01'), false, true],
    ['starting up', database('57P03'), false, true],
    ['too many connections', database('53300'), false, true],
    ['disk full', database('53100'), false, true],
    ['read-only', database('25006'), false, true],
    ['connection failure', database('08006'), false, true],
    ['unique violation', database('23505'), false, false],
    ['check violation', database('23514'), false, false],
    ['no right', database('42501'), false, false],
    ['refused', network('ECONNREFUSED'), false, true],
    ['reset', network('ECONNRESET'), false, true],
    ['no such host', network('ENOTFOUND'), false, true],
    ['every address refused', new AggregateError([network('ECONNREFUSED')]), false, true],
    ['terminated', new Error('Connection terminated unexpectedly'), false, true],
    ['terminated by timeout', new Error('Connection terminated due to connection timeout'), false, true],
    ['no free connection', new Error('timeout exceeded when trying to connect'), false, true],
    ['silent server', new Error('Query read timeout'), false, true],
    ['a bug', new TypeError('x is not a function'), false, false],
    ['no error', undefined, false, false],
  ])('%s is mapped to its code', (_name, error, retryable, unavailable) => {
    expect(isRetryable(error)).toBe(retryable);
    expect(isUnavailable(error)).toBe(unavailable);
    const thrown = asLedgerError(error);
    if (retryable || unavailable) expect(thrown).toMatchObject({ code: 'unavailable', cause: error });
    else expect(thrown).toBe(error);
  });

  it('that is already mapped stays unchanged', () => {
    const error = new FareboxError({ code: 'conflict', message: 'x' });
    expect(asLedgerError(error)).toBe(error);
    expect(isUnavailable(new FareboxError({ code: 'unavailable', message: 'x' }))).toBe(true);
  });
});
