/**
 * The check of the ledger: over a million unsealed entries; over an open day with a million sealed ones before it, against
 * the open day alone; and hold + settle of one busy account while checks run, which must not become slower call by call.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { createAccount } from '../infra/postgres/accounts.ts';
import { createLedger } from '../infra/postgres/createLedger.ts';
import { grant } from '../infra/postgres/ledger.ts';
import { runLedgerCheck } from '../infra/postgres/ledgerCheck.ts';
import { migrate } from '../infra/postgres/migrate.ts';
import { openPool } from '../infra/postgres/pool.ts';
import { writeAccounts, writeCharges } from './booksData.ts';
import { percentile, round } from './statistics.ts';

const CHARGES = 1_000_000;
const OPEN_CHARGES = 100_000;
const MAX_SEALED_RATIO = 2;
/** The last tenth of the calls during a check against the first one. */
const MAX_SLOPE = 1.5;
const DAY_MS = 86_400_000;

export async function run(databaseUrl: string): Promise<{ ok: boolean }> {
  const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const today = { from: iso(midnight), to: iso(Date.now() - 120_000) };
  const before = { from: iso(midnight - 5 * DAY_MS), to: iso(midnight - DAY_MS) };
  const unsealedMs = await withBooks({ databaseUrl, name: 'unsealed', at: before.from }, async (url) => {
    await writeCharges(url, { charges: CHARGES, ...before });
    return await bestOf(3, () => check(url));
  });
  const openMs = await withBooks({ databaseUrl, name: 'open', at: today.from }, async (url) => {
    await writeCharges(url, { charges: OPEN_CHARGES, ...today });
    return await bestOf(3, () => check(url));
  });
  const sealed = await withBooks({ databaseUrl, name: 'sealed', at: before.from }, async (url) => {
    await writeCharges(url, { charges: CHARGES, ...before });
    const sealingMs = await check(url, { seal: true });
    await writeCharges(url, { charges: OPEN_CHARGES, ...today });
    const checkMs = await bestOf(3, () => check(url));
    return { sealingMs, checkMs, slope: await slopeOf(url), fullMs: await check(url, { full: true }) };
  });
  const ratio = sealed.checkMs / openMs;
  console.table({
    [`${CHARGES} unsealed entries, ms`]: round(unsealedMs),
    [`${CHARGES} entries checked and sealed, ms`]: round(sealed.sealingMs),
    [`${OPEN_CHARGES} entries of the open day alone, ms`]: round(openMs),
    [`the same after ${CHARGES} sealed ones, ms`]: round(sealed.checkMs),
    [`ratio (wanted at most ${MAX_SEALED_RATIO})`]: round(ratio),
    'full check of both, ms': round(sealed.fullMs),
    [`hold + settle at the end of the checks by that at their start (wanted at most ${MAX_SLOPE})`]: round(
      sealed.slope,
    ),
  });
  return { ok: ratio <= MAX_SEALED_RATIO && sealed.slope <= MAX_SLOPE };
}

const iso = (ms: number) => new Date(ms).toISOString();

async function withBooks<T>(
  { databaseUrl, name, at }: { databaseUrl: string; name: string; at: string },
  work: (url: string) => Promise<T>,
): Promise<T> {
  const admin = new pg.Client({ connectionString: databaseUrl });
  await admin.connect();
  const url = new URL(databaseUrl);
  url.pathname = `/bench_${name}_${randomUUID().slice(0, 8)}`;
  try {
    await admin.query(`create database ${url.pathname.slice(1)}`);
    await migrate(url.href);
    await writeAccounts(url.href, at);
    return await work(url.href);
  } finally {
    await admin.end();
  }
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
