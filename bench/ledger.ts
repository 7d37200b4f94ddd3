/**
 * Hold + settle pairs per second with 128 in flight, on one hot account and on 100. The floor is one statement per hold
 * and per settle, with the same schema, functions and durability (synchronous_commit on, fsync on), in the same run.
 */
import { createHash, randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { createAccount } from '../infra/postgres/accounts.ts';
import { createLedger, type Ledger } from '../infra/postgres/createLedger.ts';
import { grant, type LedgerPrice, type PriceSnapshot } from '../infra/postgres/ledger.ts';
import type { LedgerOptions } from '../infra/postgres/ledgerCalls.ts';
import { checkLedger } from '../infra/postgres/ledgerCheck.ts';
import { migrate } from '../infra/postgres/migrate.ts';
import { openLedgerPool, openPool } from '../infra/postgres/pool.ts';
import type { Checkout } from './checkout.ts';

const IN_FLIGHT = 128;
const HELD: LedgerPrice = { usd: 640_000n, diem: 640_000n };
const SETTLED: LedgerPrice = { usd: 210_000n, diem: 210_000n };
const SNAPSHOT: PriceSnapshot = {
  ...{ sku: 'bench', modelId: 'bench', provider: 'bench', units: '1', unit: 'request' },
  ...{ pricePerUnitUsd: SETTLED.usd.toString(), requestId: randomUUID() },
};
const WANTED_RATIO = 4;
const LOCKED_MS = 15_000;
const PACE_MS = 100;
const MAX_LOCK_DELAY = 3;
/** Number of holds of the locked account that wait at a time, and as many settlements. */
const LOCKED_LANES = 50;

export interface Payer {
  accountId: string;
  keyId: string;
}

interface LedgerSpeed {
  pairsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
}

interface LedgerBenchRow extends LedgerSpeed {
  shape: string;
  mode: string;
}

/** Latency of other accounts' pairs at a steady rate, with one account's row locked and without. */
interface LockDelay {
  p99Ms: number;
  lockedP99Ms: number;
  ratio: number;
  failures: number;
}

export interface LedgerBenchResult {
  rows: LedgerBenchRow[];
  lockDelay: LockDelay;
  /** Batched rate ÷ best floor rate, by shape. */
  ratios: Record<string, number>;
  deadlocks: number;
  brokenInvariants: string[];
  ok: boolean;
}

/** Needs the URL of an empty database in a durable Postgres. */
export async function benchmarkLedger(options: { databaseUrl: string; seconds?: number }): Promise<LedgerBenchResult> {
  await migrate(options.databaseUrl);
  const { databaseUrl } = options;
  const pool = openPool({ databaseUrl, applicationName: 'farebox-bench', max: 68 });
  const ledgerPool = openLedgerPool({ databaseUrl, applicationName: 'farebox-bench' });
  const seconds = options.seconds ?? 4;
  try {
    await requireDurability(pool);
    const rows: LedgerBenchRow[] = [];
    const ratios: Record<string, number> = {};
    for (const accounts of [1, 100]) {
      const shape = accounts === 1 ? 'one hot account' : `${accounts} accounts`;
      const measured = await measureShape({ pool, ledgerPool }, await makePayers(pool, accounts), seconds);
      rows.push(...measured.map((row) => ({ shape, ...row })));
      ratios[shape] = ratioOf(measured);
    }
    const lockDelay = await measureLockedAccount(pool, ledgerPool, await makePayers(pool, 21));
    const result = { rows, ratios, lockDelay, ...(await readVerdict(pool)), ok: false };
    result.ok =
      result.deadlocks === 0 &&
      result.brokenInvariants.length === 0 &&
      reachesRatio(ratios) &&
      lockDelay.failures === 0 &&
      lockDelay.ratio <= MAX_LOCK_DELAY;
    printResult(result);
    return result;
  } finally {
    await Promise.all([pool.end(), ledgerPool.end()]);
  }
}

/** The floor gets the best of several pool sizes. Both sides are measured twice, in turns, and the best is kept. */
async function measureShape(
  { pool, ledgerPool }: { pool: pg.Pool; ledgerPool: pg.Pool },
  payers: Payer[],
  seconds: number,
): Promise<Omit<LedgerBenchRow, 'shape'>[]> {
  const modes: [string, pg.Pool, LedgerOptions][] = [
    ['one statement each, 4 connections', pool, { maxBatch: 1, maxInFlight: 2 }],
    ['one statement each, 16 connections', pool, { maxBatch: 1, maxInFlight: 8 }],
    ['one statement each, 64 connections', pool, { maxBatch: 1, maxInFlight: 32 }],
    ['batched, one connection', ledgerPool, {}],
  ];
  const best = new Map<string, LedgerSpeed>();
  for (let round = 0; round < 2; round += 1) {
    for (const [mode, connections, ledgerOptions] of modes) {
      const ledger = createLedger(connections, ledgerOptions);
      await runPairs(ledger, payers, seconds / 4);
      const measured = await runPairs(ledger, payers, seconds);
      await ledger.close();
      const before = best.get(mode);
      if (!before || before.pairsPerSecond < measured.pairsPerSecond) best.set(mode, measured);
    }
  }
  return [...best].map(([mode, measured]) => ({ mode, ...measured }));
}

/** Keeps 128 pairs in flight for the given time. Throws when a hold is refused: the figures would mean nothing. */
export async function runPairs(ledger: Ledger, payers: Payer[], seconds: number): Promise<LedgerSpeed> {
  const latencies: number[] = [];
  const startMs = performance.now();
  const untilMs = startMs + seconds * 1_000;
  async function loop(lane: number): Promise<void> {
    for (let turn = lane; performance.now() < untilMs; turn += 7) {
      const payer = payers[turn % payers.length];
      if (!payer) throw new Error('no payer');
      const operationId = randomUUID();
      const beganMs = performance.now();
      const held = await ledger.hold({
        operationId,
        ...payer,
        price: HELD,
        ttlMs: 600_000,
        snapshot: SNAPSHOT,
      });
      if (held.outcome !== 'held') throw new Error(`hold: ${held.outcome}`);
      const settled = await ledger.settle({ operationId, price: SETTLED });
      if (settled.outcome !== 'settled') throw new Error(`settle: ${settled.outcome}`);
      latencies.push(performance.now() - beganMs);
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, (_, lane) => loop(lane)));
  const elapsedSeconds = (performance.now() - startMs) / 1_000;
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0;
  return { pairsPerSecond: latencies.length / elapsedSeconds, p50Ms: at(0.5), p99Ms: at(0.99) };
}

async function measureLockedAccount(pool: pg.Pool, ledgerPool: pg.Pool, payers: Payer[]): Promise<LockDelay> {
  const ledger = createLedger(ledgerPool);
  const [locked, ...others] = payers as [Payer, ...Payer[]];
  const free = await measurePacedPairs(ledger, others);
  const held = await Promise.all(
    Array.from({ length: LOCKED_LANES }, async () => {
      const operationId = randomUUID();
      await ledger.hold({ operationId, ...locked, price: HELD, ttlMs: 600_000, snapshot: SNAPSHOT });
      return operationId;
    }),
  );
  const client = await pool.connect();
  await client.query('begin');
  await client.query('select from accounts where id = $1 for update', [locked.accountId]);
  // Keeps the transaction busy, because the pool ends idle transactions.
  const busy = setInterval(() => void client.query('select 1').catch(() => undefined), 1_000);
  const untilMs = performance.now() + LOCKED_MS;
  const settlements = held.map(async (operationId) => {
    const settle = { operationId, accountId: locked.accountId, price: SETTLED };
    while (performance.now() < untilMs) await ledger.settle(settle).catch(() => undefined);
  });
  const waiting = [measurePacedPairs(ledger, Array<Payer>(LOCKED_LANES).fill(locked)), ...settlements];
  const delayed = await measurePacedPairs(ledger, others);
  clearInterval(busy);
  await client.query('rollback');
  client.release();
  await Promise.all(waiting);
  await ledger.close();
  const { p99Ms } = free;
  const failures = free.failures + delayed.failures;
  return { p99Ms, lockedP99Ms: delayed.p99Ms, ratio: delayed.p99Ms / p99Ms, failures };
}

/** Runs the pairs of each payer one after the other, with pauses, for the time of the lock. */
async function measurePacedPairs(ledger: Ledger, payers: Payer[]): Promise<{ p99Ms: number; failures: number }> {
  const latencies: number[] = [];
  let failures = 0;
  const untilMs = performance.now() + LOCKED_MS;
  const lane = async (payer: Payer) => {
    while (performance.now() < untilMs) {
      const operationId = randomUUID();
      const beganMs = performance.now();
      try {
        await ledger.hold({ operationId, ...payer, price: HELD, ttlMs: 600_000, snapshot: SNAPSHOT });
        await ledger.settle({ operationId, accountId: payer.accountId, price: SETTLED });
      } catch {
        failures += 1;
      }
      latencies.push(performance.now() - beganMs);
      await sleep(PACE_MS);
    }
  };
  await Promise.all(payers.map(lane));
  latencies.sort((a, b) => a - b);
  return { p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? 0, failures };
}

export async function makePayers(
  pool: pg.Pool,
  count: number,
  books: Pick<Checkout, 'createAccount' | 'grant'> = { createAccount, grant },
): Promise<Payer[]> {
  const payers: Payer[] = [];
  for (let index = 0; index < count; index += 1) {
    const account = await books.createAccount(pool, { name: `bench ${index}` });
    await books.grant(pool, {
      operationId: randomUUID(),
      accountId: account.id,
      currency: 'usd',
      amount: 10n ** 17n,
      notes: 'bench',
    });
    const { rows } = await pool.query<{ id: string }>(
      `insert into api_keys (account_id, secret_hash, key_type, last6, limit_usd, limit_period)
       values ($1, $2, 'INFERENCE', 'bench0', $3, 'MONTH') returning id`,
      [account.id, createHash('sha256').update(randomUUID()).digest(), (10n ** 17n).toString()],
    );
    payers.push({ accountId: account.id, keyId: rows[0]?.id ?? '' });
  }
  return payers;
}

async function requireDurability(pool: pg.Pool): Promise<void> {
  for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    const { rows } = await pool.query<Record<string, string>>(`show ${setting}`);
    if (rows[0]?.[setting] !== 'on') throw new Error(`${setting} is off: the figures would mean nothing`);
  }
}

async function readVerdict(pool: pg.Pool): Promise<Pick<LedgerBenchResult, 'deadlocks' | 'brokenInvariants'>> {
  const { rows } = await pool.query<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  );
  const broken = await checkLedger(pool);
  return {
    deadlocks: Number(rows[0]?.deadlocks ?? 0),
    brokenInvariants: broken.map((finding) => finding.invariant),
  };
}

function ratioOf(rows: Omit<LedgerBenchRow, 'shape'>[]): number {
  const best = (batched: boolean) =>
    Math.max(...rows.filter((row) => row.mode.startsWith('batched') === batched).map((row) => row.pairsPerSecond));
  return best(true) / best(false);
}

function reachesRatio(ratios: Record<string, number>): boolean {
  return Object.values(ratios).every((ratio) => ratio >= WANTED_RATIO);
}

function printResult(result: LedgerBenchResult): void {
  console.log(`ledger: hold + settle pairs, ${IN_FLIGHT} in flight, durable commits`);
  console.table(
    result.rows.map((row) => ({
      shape: row.shape,
      mode: row.mode,
      'pairs/s': Math.round(row.pairsPerSecond),
      'p50 ms': Number(row.p50Ms.toFixed(1)),
      'p99 ms': Number(row.p99Ms.toFixed(1)),
    })),
  );
  for (const [shape, ratio] of Object.entries(result.ratios)) {
    console.log(`  ${shape}: ${ratio.toFixed(2)} × the best floor (wanted ${WANTED_RATIO})`);
  }
  const { p99Ms, lockedP99Ms, ratio, failures } = result.lockDelay;
  console.log(
    `  one of 21 accounts locked for ${LOCKED_MS / 1_000} s, with ${2 * LOCKED_LANES} calls waiting: p99 of the others ${lockedP99Ms.toFixed(1)} ms, ` +
      `${ratio.toFixed(2)} × the ${p99Ms.toFixed(1)} ms without the lock (at most ${MAX_LOCK_DELAY}), ${failures} failures`,
  );
  console.log(`  deadlocks ${result.deadlocks}, broken invariants ${result.brokenInvariants.length}`);
}
