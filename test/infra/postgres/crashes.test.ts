/** Killed processes, dropped connections, lost replies, silent databases: money moves once or not at all. */
import net from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createLedger } from '../../../infra/postgres/createLedger.ts';
import { charge, refund } from '../../../infra/postgres/ledger.ts';
import { openPool } from '../../../infra/postgres/pool.ts';
import { services } from '../../harness/services.ts';
import { spawnNode } from '../../harness/spawn.ts';
import type { RaceOrder } from '../../stubs/ledgerRacer.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from './ledgerWorld.ts';
import { longRun } from './longRun.ts';

const FUNDS = 10n ** 12n;
const LANES = 32;
const PRICE = 1_000n;
/** On a busy machine the killed process has started thousands of bills, which are all completed. */
const KILL_LIMIT_MS = 180_000;

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld();
});
afterAll(() => world.close());

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a process killed in the middle of its batches', () => {
  const kills = Array.from({ length: longRun(6, 40) }, (_, index) => index);

  it.each(kills)(
    'leaves sound books, loses nothing acknowledged, and can be finished by its ids (%i)',
    async (kill) => {
      const accounts = await Promise.all(Array.from({ length: 5 }, () => world.account({ usd: FUNDS })));
      const name = `churn-${kill}`;
      const task: RaceOrder = { kind: 'churn', accounts, priceNano: String(PRICE), name, lanes: 64 };
      const spawned = spawnNode({
        script: 'dist/test/stubs/ledgerRacer.js',
        name: 'ledger-churn',
        environment: { DATABASE_URL: world.databaseUrl, LEDGER_RACE: JSON.stringify(task) },
        runFolder: services().runFolder,
      });
      while (!spawned.logs().includes('settled')) await pause(2);
      await pause(30 + ((kill * 37) % 150));
      spawned.kill('SIGKILL');
      await spawned.exit;
      await untilBackendsAreGone();
      await world.expectSound();

      const said = acknowledgements(spawned.logs());
      const { rows } = await world.owner.query<{ operation_id: string; state: string }>(
        'select operation_id, state from operations where operation_id like $1',
        [`${name}:%`],
      );
      const states = new Map(rows.map((row) => [Number(row.operation_id.split(':')[1]), row.state]));
      for (const number of said.held) expect(states.has(number)).toBe(true);
      for (const number of said.settled) expect(states.get(number)).toBe('settled');

      await finish(name, accounts, Math.max(...states.keys()) + 1);
      await world.expectSound();
    },
    KILL_LIMIT_MS,
  );
});

/**
 * Repeats the acts of the killed process with the same ids, to the end: each id is charged exactly once. Half of each
 * bill exceeds its hold, and both halves are taken together.
 */
async function finish(name: string, accounts: string[], count: number): Promise<void> {
  const ledger = world.ledger();
  const numbers = Array.from({ length: count }, (_, number) => number);
  const outcomes = await Promise.all(
    numbers.map(async (number) => {
      const request = order(accounts[number % accounts.length] ?? '', both(PRICE / 2n));
      const operationId = `${name}:${number}`;
      await ledger.hold({ ...request, operationId, ttlMs: 60_000 });
      return ledger.settle({ operationId, price: both(PRICE) });
    }),
  );
  for (const outcome of outcomes) expect(outcome).toMatchObject({ outcome: 'settled' });
  const left = await Promise.all(accounts.map((account) => world.balance(account)));
  const total = left.reduce((sum, balance) => sum + balance.usd, 0n);
  expect(total).toBe(FUNDS * BigInt(accounts.length) - PRICE * BigInt(count));
}

function acknowledgements(log: string): { held: number[]; settled: number[] } {
  const facts = log
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as { held?: number; settled?: number });
  const numbers = (values: (number | undefined)[]) => values.filter((value) => value !== undefined);
  return {
    held: numbers(facts.map((fact) => fact.held)),
    settled: numbers(facts.map((fact) => fact.settled)),
  };
}

async function untilBackendsAreGone(): Promise<void> {
  for (;;) {
    const { rows } = await world.owner.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and application_name = 'ledger-racer'`,
    );
    if (rows[0]?.n === 0) return;
    await pause(10);
  }
}

describe('connections closed by the server', () => {
  it('lose no answer and charge nothing twice', async () => {
    const account = await world.account({ usd: FUNDS });
    const ledger = world.ledger();
    let cutting = true;
    let answered = 0;
    const cutter = (async () => {
      for (let answeredAtCut = -1; cutting; await pause(25)) {
        // On a slow machine, connections that are closed every 25 ms would never answer.
        if (answered === answeredAtCut) continue;
        answeredAtCut = answered;
        await world.owner.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name like 'ledger-test%'`,
        );
      }
    })();
    let settled = 0;
    const until = Date.now() + 1_500;
    const goesOn = () => Date.now() < until || settled <= LANES;
    const lane = async () => {
      while (goesOn()) {
        // In every eighth bill, half of the amount exceeds the hold.
        const request = order(account, both(settled % 8 === 0 ? PRICE / 2n : PRICE));
        const repeat = async <T>(work: () => Promise<T>): Promise<T> => {
          for (;;) {
            try {
              const outcome = await work();
              answered += 1;
              return outcome;
            } catch (error) {
              if ((error as { code?: string }).code !== 'unavailable') throw error;
            }
          }
        };
        expect(await repeat(() => ledger.hold({ ...request, ttlMs: 60_000 }))).toMatchObject({
          outcome: 'held',
        });
        const { operationId } = request;
        expect(await repeat(() => ledger.settle({ operationId, price: both(PRICE) }))).toMatchObject({
          outcome: 'settled',
        });
        settled += 1;
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    cutting = false;
    await cutter;
    expect(settled).toBeGreaterThan(LANES);
    expect(await world.balance(account)).toMatchObject({
      usd: FUNDS - BigInt(settled) * PRICE,
      held: { usd: 0n },
    });
    await world.expectSound();
  });
});

/** A TCP proxy in front of Postgres that loses replies or stays silent. */
interface Proxy {
  url: string;
  /** `loseNext`: drops the next replies and closes the connection. `silent`: passes nothing on. */
  mode: 'pass' | 'loseNext' | 'silent';
  lost: number;
  close(): Promise<void>;
}

async function startProxy(databaseUrl: string): Promise<Proxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const upstream = net.connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    client.on('data', (bytes) => {
      if (proxy.mode !== 'silent') upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (proxy.mode === 'pass') client.write(bytes);
      else if (proxy.mode === 'loseNext') {
        proxy.mode = 'pass';
        proxy.lost += 1;
        client.destroy();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.port = String((server.address() as net.AddressInfo).port);
  const proxy: Proxy = {
    url: url.href,
    mode: 'pass',
    lost: 0,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}

describe('a faulty network to the database', () => {
  let proxy: Proxy;
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function behindProxy(statementTimeoutMs?: number) {
    proxy = await startProxy(world.databaseUrl);
    closers.push(() => proxy.close());
    const pool = openPool({
      databaseUrl: proxy.url,
      applicationName: 'ledger-proxied',
      connectTimeoutMs: 1_500,
      max: 4,
      pipelined: true,
      ...(statementTimeoutMs === undefined ? {} : { statementTimeoutMs }),
    });
    closers.push(() => pool.end());
    await Promise.all(Array.from({ length: 4 }, () => pool.query('select 1')));
    return pool;
  }

  it('reports a hold and a settlement with lost replies as done when they are repeated', async () => {
    const account = await world.account({ usd: FUNDS });
    const ledger = createLedger(await behindProxy());
    const request = order(account, both(PRICE));
    proxy.mode = 'loseNext';
    expect(await ledger.hold({ ...request, ttlMs: 60_000 })).toMatchObject({
      outcome: 'held',
      replayed: true,
    });
    proxy.mode = 'loseNext';
    expect(await ledger.settle({ operationId: request.operationId, price: both(PRICE) })).toMatchObject({
      outcome: 'settled',
      replayed: true,
    });
    expect(proxy.lost).toBe(2);
    expect(await world.balance(account)).toMatchObject({ usd: FUNDS - PRICE, held: { usd: 0n } });
  });

  it('reports a charge with a lost reply as unavailable, and as done when it is repeated', async () => {
    const account = await world.account({ usd: FUNDS });
    const pool = await behindProxy();
    const request = order(account, both(PRICE));
    proxy.mode = 'loseNext';
    await expect(charge(pool, request)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await charge(pool, request)).toMatchObject({ outcome: 'charged', replayed: true });
    expect(await world.balance(account)).toMatchObject({ usd: FUNDS - PRICE });
    const undo = { operationId: 'undo', chargeOperationId: request.operationId, reason: 'x' };
    proxy.mode = 'loseNext';
    await expect(refund(pool, undo)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await refund(pool, undo)).toMatchObject({ outcome: 'refunded', replayed: true });
    expect(await world.balance(account)).toMatchObject({ usd: FUNDS });
  });

  it('reports a silent database as unavailable within the deadline, and works again afterwards', async () => {
    const account = await world.account({ usd: FUNDS });
    const pool = await behindProxy(500);
    const ledger = createLedger(pool, { deadlineMs: 800, maxBatch: 1 });
    proxy.mode = 'silent';
    const request = order(account, both(PRICE));
    // Pipelined on the same connection.
    for (const outcome of await Promise.allSettled([
      ledger.hold({ ...request, ttlMs: 60_000 }),
      ledger.hold({ ...order(account, both(PRICE)), ttlMs: 60_000 }),
    ])) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
    }
    await expect(charge(pool, order(account, both(PRICE)))).rejects.toMatchObject({ code: 'unavailable' });
    proxy.mode = 'pass';
    expect(await createLedger(pool).hold({ ...request, ttlMs: 60_000 })).toMatchObject({ outcome: 'held' });
    await ledger.close();
    await world.expectSound();
  });

  it('reports an unreachable database as unavailable, not as a programming error', async () => {
    const pool = openPool({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none', applicationName: 'x' });
    closers.push(() => pool.end());
    const account = await world.account({ usd: FUNDS });
    await expect(charge(pool, order(account, both(PRICE)))).rejects.toMatchObject({ code: 'unavailable' });
    const held = createLedger(pool).hold({ ...order(account, both(PRICE)), ttlMs: 1_000 });
    await expect(held).rejects.toMatchObject({ code: 'unavailable' });
  });
});
