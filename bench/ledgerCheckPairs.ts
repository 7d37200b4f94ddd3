/**
 * Compares `farebox ledger check` of two builds on the same unsealed books, in turns, by wall time and processor time.
 * Measures the check alone, and the command, which also seals days if the build supports seals.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { query } from '../dev/stack/parts/postgres.ts';
import { processEnvironment } from '../infra/config/environment.ts';
import { postgresPids } from './cores.ts';
import { medianInterval, percentile, round } from './statistics.ts';

export const PAIRS = 9;
const MAX_RATIO = 0.7;
const RATIO = `new ÷ old (clock ≤ ${MAX_RATIO})`;
const CLOCK = 'clock, ms';
const MAX_CHECK_MS = 600_000;

export interface CheckedBooks {
  /** Folder of the built checkout. */
  folder: string;
  databaseUrl: string;
}

interface Times {
  wallMs: number;
  /** Processor time of the command and of its Postgres processes. */
  cpuMs: number;
}

/** Leaves the books of the new build sealed. */
export async function compareChecks(old: CheckedBooks, now: CheckedBooks): Promise<boolean> {
  const reached: boolean[] = [];
  for (const kind of ['check', 'command'] as const) reached.push(await compareTimes(kind, old, now));
  return reached.every(Boolean);
}

type Kind = 'check' | 'command';

async function compareTimes(kind: Kind, old: CheckedBooks, now: CheckedBooks): Promise<boolean> {
  const took = { old: [] as Times[], now: [] as Times[] };
  // The first pair loads the books into memory.
  for (let pair = 0; pair <= PAIRS; pair += 1) {
    const times: Partial<Record<keyof typeof took, Times>> = {};
    for (const side of pair % 2 === 0 ? (['old', 'now'] as const) : (['now', 'old'] as const)) {
      if (side === 'now') await removeSeals(now.databaseUrl);
      times[side] = await runCheck(kind, side === 'old' ? old : now);
    }
    if (pair === 0 || !times.old || !times.now) continue;
    took.old.push(times.old);
    took.now.push(times.now);
  }
  const highs: { time: string; high: number }[] = [];
  const rows = (['cpuMs', 'wallMs'] as const).map((time) => {
    const [was, is] = [took.old.map((times) => times[time]), took.now.map((times) => times[time])];
    const { low, median, high } = medianInterval(is.map((ms, pair) => ms / (was[pair] ?? Number.NaN)));
    highs.push({ time, high });
    return {
      time: time === 'cpuMs' ? 'processors, ms' : CLOCK,
      ...{ old: round(percentile(was, 0.5)), new: round(percentile(is, 0.5)) },
      [RATIO]: median,
      '95 % interval': `${low.toFixed(3)} to ${high.toFixed(3)}`,
    };
  });
  const what = kind === 'check' ? 'the check alone' : 'the command, with its seals';
  console.log(`ledger check, ${what}: the same unsealed books by the old build and by this one, ${PAIRS} pairs`);
  console.table(rows);
  // The bar is on wall time, which operators wait for. Digests of seals take processor time in new builds only.
  return highs.every(({ time, high }) => time !== 'wallMs' || high <= MAX_RATIO);
}

/** Switches triggers off, because they make seals append-only. */
async function removeSeals(databaseUrl: string): Promise<void> {
  const tables = ['sealed_balances', 'sealed_sums', 'sealed_days'];
  const deletes = tables.map((table) => `delete from ${table};`).join(' ');
  await query(databaseUrl, `set session_replication_role = replica; ${deletes}`);
}

/** Uses only functions that both builds have. Arguments: folder of the build, database URL. */
const CHECK = `const [folder, databaseUrl] = process.argv.slice(1);
const { openPool } = await import(folder + '/dist/infra/postgres/pool.js');
const { checkLedger } = await import(folder + '/dist/infra/postgres/ledgerCheck.js');
const pool = openPool({ databaseUrl, applicationName: 'farebox-bench', max: 2, statementTimeoutMs: 300_000 });
if ((await checkLedger(pool)).length > 0) process.exitCode = 1;
await pool.end();`;

async function runCheck(kind: Kind, { folder, databaseUrl }: CheckedBooks): Promise<Times> {
  const [postmaster = 0] = await postgresPids({ environment: { DATABASE_URL: databaseUrl } });
  // Counts ended child processes: the command of this process, its backends of the postmaster.
  const spentMs = () => childrenMs(process.pid) + childrenMs(postmaster);
  await waitForNoConnections(databaseUrl);
  const [startMs, beforeMs] = [performance.now(), spentMs()];
  const { PATH } = processEnvironment();
  const command = [path.join(folder, 'dist/cli/main.js'), 'ledger', 'check'];
  const check = ['--input-type=module', '--eval', CHECK, folder, databaseUrl];
  const child = spawn(process.execPath, kind === 'check' ? check : command, {
    env: { ...(PATH && { PATH }), DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: MAX_CHECK_MS,
  });
  const [code] = await once(child, 'exit');
  const wallMs = performance.now() - startMs;
  if (code !== 0) throw new Error(`ledger check of ${folder}: exit code ${code}`);
  await waitForNoConnections(databaseUrl);
  return { wallMs, cpuMs: spentMs() - beforeMs };
}

const MAX_WAIT_MS = 60_000;
const SETTLE_MS = 200;

/** Waits until no other connection is open, then until the postmaster has reaped the last process. */
async function waitForNoConnections(databaseUrl: string): Promise<void> {
  const others = `select pid from pg_stat_activity where backend_type in ('client backend', 'parallel worker')
    and datname = current_database() and pid <> pg_backend_pid()`;
  const deadline = performance.now() + MAX_WAIT_MS;
  while ((await query(databaseUrl, others)).length > 0) {
    if (performance.now() > deadline) throw new Error('a connection to the books was not closed');
    await sleep(SETTLE_MS);
  }
  await sleep(SETTLE_MS);
}

/** Linux counts in hundredths of a second. A check takes seconds. */
const TICK_MS = 10;

function childrenMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  // Fields 16 and 17: user and system time of ended children.
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
}
