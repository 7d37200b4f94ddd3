/**
 * Measures the ledger check. First over a million unsealed entries, with `--old` in turns with an older build. Then
 * over an open day with a million sealed entries of many earlier days, in turns with the open day alone. Last, hold +
 * settle of one busy account must not slow down while checks run.
 */
import { randomUUID } from 'node:crypto';
import { query } from '../dev/stack/parts/postgres.ts';
import { createAccount } from '../infra/postgres/accounts.ts';
import { createLedger } from '../infra/postgres/createLedger.ts';
import { grant } from '../infra/postgres/ledger.ts';
import { runLedgerCheck } from '../infra/postgres/ledgerCheck.ts';
import { openPool } from '../infra/postgres/pool.ts';
import { databaseOf } from '../test/harness/template.ts';
import { type WrittenBooks, writeAccounts, writeCharges } from './booksData.ts';
import { type Checkout, openCheckout } from './checkout.ts';
import { compareChecks, PAIRS } from './ledgerCheckPairs.ts';
import { medianInterval, percentile, round } from './statistics.ts';

const CHARGES = 1_000_000;
const OPEN_CHARGES = 100_000;
/** Days before the open day. Each account is charged on each of them. */
const SEALED_DAYS = 90;
const MAX_SEALED_RATIO = 2;
/** Median latency of the last tenth of the calls during a check ÷ that of the first tenth. */
const MAX_SLOPE = 1.5;
const DAY_MS = 86_400_000;

/** Needs the URL of the superuser of an otherwise idle, durable Postgres. `old` is the folder of an older build. */
export async function benchmarkLedgerCheck(databaseUrl: string, old?: string): Promise<{ ok: boolean }> {
  // Autovacuum would count as processor time of a check. Books are vacuumed when they are written.
  await query(databaseUrl, 'alter system set autovacuum = off');
  await query(databaseUrl, 'select pg_reload_conf()');
  const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const today = { charges: OPEN_CHARGES, from: iso(midnight), to: iso(Date.now() - 120_000), hasLines: true };
  const before = {
    ...{ charges: CHARGES, from: iso(midnight - SEALED_DAYS * DAY_MS), to: iso(midnight - DAY_MS) },
    // Both builds get the same books, so an older build must be able to write them.
    hasLines: old === undefined,
  };
  const checkout = await openCheckout();
  const writer = old === undefined ? checkout : await openCheckout(old);
  const written = databaseOf(databaseUrl, 'bench_written');
  await writeBooks(written, writer, before);
  const url = await copyBooks(written, 'bench_checked', checkout);
  const unsealedMs = await bestOf(3, () => timeCheck(url));
  const open = databaseOf(databaseUrl, 'bench_open');
  await writeBooks(open, checkout, today);
  const sealingMs = await timeCheck(url, { seal: true });
  const quicker =
    old === undefined
      ? 'not measured'
      : await compareChecks(
          { folder: writer.folder, databaseUrl: written },
          { folder: checkout.folder, databaseUrl: url },
        );
  await writeCharges(url, today);
  const { openMs, sealedMs, ratio } = await measurePairs(open, url);
  const slope = await measureSlope(url);
  const fullMs = await timeCheck(url, { full: true });
  console.table({
    [`${CHARGES} unsealed entries, ms`]: round(unsealedMs),
    [`${CHARGES} entries checked and sealed, ms`]: round(sealingMs),
    [`${OPEN_CHARGES} entries of the open day alone, ms`]: round(openMs),
    [`the same after ${CHARGES} sealed ones of ${SEALED_DAYS} days, ms`]: round(sealedMs),
    [`ratio, ${PAIRS} pairs (wanted at most ${MAX_SEALED_RATIO} at the upper end of its interval)`]: `${ratio.median.toFixed(3)}, 95 % interval ${ratio.low.toFixed(3)} to ${ratio.high.toFixed(3)}`,
    'unsealed entries, by the older build (--old)': quicker === 'not measured' ? quicker : 'see above',
    'full check of both, ms': round(fullMs),
    [`hold + settle at the end of the checks by that at their start (wanted at most ${MAX_SLOPE})`]: round(slope),
  });
  return { ok: quicker !== false && ratio.high <= MAX_SEALED_RATIO && slope <= MAX_SLOPE };
}

const iso = (ms: number) => new Date(ms).toISOString();

async function writeBooks(url: string, { migrate }: Checkout, books: WrittenBooks): Promise<void> {
  await query(databaseOf(url, 'postgres'), `create database ${new URL(url).pathname.slice(1)}`);
  await migrate(url);
  await writeAccounts(url, books.from);
  await writeCharges(url, books);
}

/** Copies the books to another database and migrates them to the schema of another build. */
async function copyBooks(url: string, name: string, { migrate }: Checkout): Promise<string> {
  const from = new URL(url).pathname.slice(1);
  await query(databaseOf(url, 'postgres'), `create database ${name} template ${from} strategy file_copy`);
  const copy = databaseOf(url, name);
  await migrate(copy);
  await query(copy, 'vacuum (analyze)');
  return copy;
}

/** Measures the open day alone and after the sealed days, in turns. */
async function measurePairs(open: string, sealed: string) {
  const took = { open: [] as number[], sealed: [] as number[] };
  // The first pair loads the books into memory.
  for (let pair = 0; pair <= PAIRS; pair += 1) {
    const times = { open: 0, sealed: 0 };
    for (const side of pair % 2 === 0 ? (['open', 'sealed'] as const) : (['sealed', 'open'] as const)) {
      times[side] = await timeCheck(side === 'open' ? open : sealed);
    }
    if (pair === 0) continue;
    took.open.push(times.open);
    took.sealed.push(times.sealed);
  }
  const ratio = medianInterval(took.sealed.map((ms, pair) => ms / (took.open[pair] ?? Number.NaN)));
  return { openMs: percentile(took.open, 0.5), sealedMs: percentile(took.sealed, 0.5), ratio };
}

async function bestOf(rounds: number, measure: () => Promise<number>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) best = Math.min(best, await measure());
  return best;
}

async function timeCheck(databaseUrl: string, options: { full?: boolean; seal?: boolean } = {}): Promise<number> {
  const pool = openPool({ databaseUrl, applicationName: 'farebox-bench', max: 2 });
  try {
    const startedMs = performance.now();
    const { broken } = await runLedgerCheck(pool, options);
    if (broken.length > 0) throw new Error(`the books are not sound: ${JSON.stringify(broken[0])}`);
    return performance.now() - startedMs;
  } finally {
    await pool.end();
  }
}

/** Runs the calls of one account one after the other while a full check runs. */
async function measureSlope(databaseUrl: string): Promise<number> {
  const pool = openPool({ databaseUrl, applicationName: 'farebox-bench', max: 2, pipelined: true });
  const ledger = createLedger(pool);
  try {
    const { id: accountId } = await createAccount(pool, { name: 'busy' });
    await grant(pool, {
      operationId: randomUUID(),
      accountId,
      currency: 'usd',
      amount: 10n ** 15n,
      notes: 'bench',
    });
    let checking = true;
    const checks = timeCheck(databaseUrl, { full: true }).finally(() => {
      checking = false;
    });
    const latencies: number[] = [];
    while (checking) latencies.push(await holdAndSettle(ledger, accountId));
    await checks;
    const tenth = Math.max(1, Math.floor(latencies.length / 10));
    return percentile(latencies.slice(-tenth), 0.5) / percentile(latencies.slice(0, tenth), 0.5);
  } finally {
    await ledger.close();
    await pool.end();
  }
}

async function holdAndSettle(ledger: ReturnType<typeof createLedger>, accountId: string): Promise<number> {
  const operationId = randomUUID();
  const price = { usd: 1_000n, diem: 0n };
  const snapshot = {
    ...{ sku: 'bench', modelId: 'bench', provider: 'bench', units: '1', unit: 'request' },
    ...{ pricePerUnitUsd: '1000', requestId: operationId },
  };
  const startedMs = performance.now();
  await ledger.hold({ operationId, accountId, keyId: null, price, ttlMs: 600_000, snapshot });
  await ledger.settle({ operationId, price });
  return performance.now() - startedMs;
}
