/**
 * The check of the ledger: over a million unsealed entries, with `--old` in turns with an older build; over an open day with
 * a million sealed ones before it, against the open day alone; and hold + settle of one busy account while checks run, which
 * must not become slower call by call.
 */
import { randomUUID } from 'node:crypto';
import { createAccount } from '../infra/postgres/accounts.ts';
import { createLedger } from '../infra/postgres/createLedger.ts';
import { grant } from '../infra/postgres/ledger.ts';
import { runLedgerCheck } from '../infra/postgres/ledgerCheck.ts';
import { openPool } from '../infra/postgres/pool.ts';
import { query } from '../infra/stack/parts/postgres.ts';
import { databaseOf } from '../test/harness/template.ts';
import { type WrittenBooks, writeAccounts, writeCharges } from './booksData.ts';
import { type Checkout, openCheckout } from './checkout.ts';
import { compareChecks } from './ledgerCheckPairs.ts';
import { percentile, round } from './statistics.ts';

const CHARGES = 1_000_000;
const OPEN_CHARGES = 100_000;
const MAX_SEALED_RATIO = 2;
/** The last tenth of the calls during a check against the first one. */
const MAX_SLOPE = 1.5;
const DAY_MS = 86_400_000;

/** Needs the URL of the superuser of a durable Postgres without other work; `old` is the folder of an older build. */
export async function run(databaseUrl: string, old?: string): Promise<{ ok: boolean }> {
  // Its processor time would count as a check's; books are vacuumed when they are written.
  await query(databaseUrl, 'alter system set autovacuum = off');
  await query(databaseUrl, 'select pg_reload_conf()');
  const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const today = { charges: OPEN_CHARGES, from: iso(midnight), to: iso(Date.now() - 120_000) };
  const before = { charges: CHARGES, from: iso(midnight - 5 * DAY_MS), to: iso(midnight - DAY_MS) };
  const checkout = await openCheckout();
  const writer = old === undefined ? checkout : await openCheckout(old);
  const written = databaseOf(databaseUrl, 'bench_written');
  await writeBooks(written, writer, before);
  const url = await copyBooks(written, 'bench_checked', checkout);
  const unsealedMs = await bestOf(3, () => check(url));
  const open = databaseOf(databaseUrl, 'bench_open');
  await writeBooks(open, checkout, today);
  const openMs = await bestOf(3, () => check(open));
  const sealingMs = await check(url, { seal: true });
  const quicker =
    old === undefined ||
    (await compareChecks(
      { folder: writer.folder, databaseUrl: written },
      { folder: checkout.folder, databaseUrl: url },
    ));
  await writeCharges(url, today);
  const sealedMs = await bestOf(3, () => check(url));
  const slope = await slopeOf(url);
  const fullMs = await check(url, { full: true });
  const ratio = sealedMs / openMs;
  console.table({
    [`${CHARGES} unsealed entries, ms`]: round(unsealedMs),
    [`${CHARGES} entries checked and sealed, ms`]: round(sealingMs),
    [`${OPEN_CHARGES} entries of the open day alone, ms`]: round(openMs),
    [`the same after ${CHARGES} sealed ones, ms`]: round(sealedMs),
    [`ratio (wanted at most ${MAX_SEALED_RATIO})`]: round(ratio),
    'full check of both, ms': round(fullMs),
    [`hold + settle at the end of the checks by that at their start (wanted at most ${MAX_SLOPE})`]:
      round(slope),
  });
  return { ok: quicker && ratio <= MAX_SEALED_RATIO && slope <= MAX_SLOPE };
}

const iso = (ms: number) => new Date(ms).toISOString();

async function writeBooks(url: string, { migrate }: Checkout, books: WrittenBooks): Promise<void> {
  await query(databaseOf(url, 'postgres'), `create database ${new URL(url).pathname.slice(1)}`);
  await migrate(url);
  await writeAccounts(url, books.from);
  await writeCharges(url, books);
}

/** The same books in another database, brought to the schema of another build. */
async function copyBooks(url: string, name: string, { migrate }: Checkout): Promise<string> {
  const from = new URL(url).pathname.slice(1);
  await query(databaseOf(url, 'postgres'), `create database ${name} template ${from} strategy file_copy`);
  const copy = databaseOf(url, name);
  await migrate(copy);
  await query(copy, 'vacuum (analyze)');
  return copy;
}

async function bestOf(rounds: number, measure: () => Promise<number>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) best = Math.min(best, await measure());
  return best;
}

async function check(databaseUrl: string, options: { full?: boolean; seal?: boolean } = {}): Promise<number> {
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

/** One account, one call after the other, while full checks follow each other. */
async function slopeOf(databaseUrl: string): Promise<number> {
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
    const checks = check(databaseUrl, { full: true }).finally(() => {
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
