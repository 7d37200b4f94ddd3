/** Statements in sequence on one connection, without a pause between them. */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLedger } from '../../../infra/postgres/createLedger.ts';
import { openPipelinedConnection, type PipelinedConnection } from '../../../infra/postgres/pipelinedConnection.ts';
import { openPool } from '../../../infra/postgres/pool.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from './ledgerWorld.ts';

let world: LedgerWorld;
let pool: pg.Pool;
let connection: PipelinedConnection;
beforeAll(async () => {
  world = await createLedgerWorld();
  pool = openPool({
    databaseUrl: world.databaseUrl,
    applicationName: 'pipeline-test',
    max: 2,
    pipelined: true,
  });
  connection = openPipelinedConnection(pool);
});
afterAll(async () => {
  await pool.end();
  await world.expectSound();
  await world.close();
});

/** Start and end of a statement on the server, and its backend. */
const timed = (seconds: number, sentBy = connection) =>
  sentBy.query<{ pid: number; began: string; ended: string }>({
    text: `select pg_backend_pid() as pid, extract(epoch from clock_timestamp()) * 1000 as began, pg_sleep($1),
      extract(epoch from clock_timestamp()) * 1000 as ended`,
    values: [seconds],
  });

const cut = () =>
  world.owner.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pipeline-test'`);

describe('a pipelined connection', () => {
  it('has one connection, on which each statement starts when the previous one ends', async () => {
    const rows = (await Promise.all([timed(0.05), timed(0.05), timed(0)])).flat();
    expect(new Set(rows.map(({ pid }) => pid)).size).toBe(1);
    for (const [index, { began }] of rows.entries()) {
      expect(Number(began)).toBeGreaterThanOrEqual(Number(rows[index - 1]?.ended ?? 0));
    }
  });

  it('returns its connection to the pool when it is idle', async () => {
    await Promise.all([timed(0), timed(0)]);
    expect({ all: pool.totalCount, idle: pool.idleCount }).toEqual({ all: 1, idle: 1 });
  });

  it('fails a statement alone: those before and after it succeed', async () => {
    const outcomes = await Promise.allSettled([
      connection.query({ name: 'first', text: 'select 1 as n' }),
      connection.query({ name: 'wrong', text: 'select 1 / $1::int as n', values: [0] }),
      connection.query({ name: 'last', text: 'select 2 as n' }),
    ]);
    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: [{ n: 1 }] },
      { status: 'rejected', reason: { code: '22012' } },
      { status: 'fulfilled', value: [{ n: 2 }] },
    ]);
  });

  it('fails the statements in flight when its connection breaks, and continues with another', async () => {
    const sent = Promise.allSettled([timed(5), timed(0)]);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await cut();
    for (const { status } of await sent) expect(status).toBe('rejected');
    expect(await timed(0)).toHaveLength(1);
    expect(pool.totalCount).toBe(1);
  });

  it('from a pool without pipelining takes a connection for each statement', async () => {
    const rows = (
      await Promise.all([
        timed(0.1, openPipelinedConnection(world.pool)),
        timed(0.1, openPipelinedConnection(world.pool)),
      ])
    ).flat();
    expect(new Set(rows.map(({ pid }) => pid)).size).toBe(2);
  });
});

describe('a ledger on a pipelined connection', () => {
  it('loses and repeats nothing when the connection is cut', async () => {
    const account = await world.account({ usd: 1_000_000n });
    const ledger = createLedger(pool, { maxBatch: 1 });
    let cutting = true;
    const cutter = (async () => {
      while (cutting) {
        await cut();
        await new Promise((resolve) => setTimeout(resolve, 40));
      }
    })();
    let settled = 0;
    async function sell(): Promise<void> {
      const { operationId, ...rest } = order(account, both(10n));
      const insist = async <T>(work: () => Promise<T>): Promise<T> => {
        for (;;) {
          try {
            return await work();
          } catch (error) {
            expect(error).toMatchObject({ code: 'unavailable' });
          }
        }
      };
      await insist(() => ledger.hold({ ...rest, operationId, ttlMs: 60_000 }));
      expect(await insist(() => ledger.settle({ operationId, price: both(7n) }))).toMatchObject({
        outcome: 'settled',
      });
      settled += 1;
    }
    for (let round = 0; round < 20; round += 1) await Promise.all(Array.from({ length: 8 }, sell));
    cutting = false;
    await cutter;
    await ledger.close();
    expect(settled).toBe(160);
    expect(await world.balance(account)).toMatchObject({ usd: 1_000_000n - 160n * 7n, held: { usd: 0n } });
  });

  it('returns to each call its own outcome', async () => {
    const accounts = await Promise.all(Array.from({ length: 6 }, () => world.account({ usd: 100n })));
    const ledger = createLedger(pool, { maxBatch: 1 });
    const held = await Promise.all(
      accounts.map((account, index) =>
        ledger.hold({
          ...order(account, both(BigInt(98 + index))),
          operationId: randomUUID(),
          ttlMs: 60_000,
        }),
      ),
    );
    await ledger.close();
    expect(held.map(({ outcome }) => outcome)).toEqual([
      ...['held', 'held', 'held'],
      ...['insufficient', 'insufficient', 'insufficient'],
    ]);
  });
});
