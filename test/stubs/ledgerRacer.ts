/**
 * Process with the shipped ledger for tests of races and crashes. The environment variable LEDGER_RACE has its task. It
 * writes results as JSON lines.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { FareboxError } from '../../domain/errors.ts';
import { processEnvironment } from '../../infra/config/environment.ts';
import { createLedger } from '../../infra/postgres/createLedger.ts';
import { charge } from '../../infra/postgres/ledger.ts';
import { openPool } from '../../infra/postgres/pool.ts';

export interface RaceRound {
  accountId: string;
  keyId: string | null;
}

export type RaceOrder =
  /** Starts each round when the advisory lock `gun + round` is free, and makes all its holds at once. */
  | {
      kind: 'race';
      gun: number;
      rounds: RaceRound[];
      holds: number;
      priceNano: string;
      name: string;
      charges: boolean;
    }
  /**
   * Starts each round when its advisory lock is free. For each payer it makes charges of 1 and holds that it settles,
   * until all payers were refused once. It reports this and continues for `forMs`.
   */
  | { kind: 'cross'; gun: number; rounds: RaceRound[][]; forMs: number; name: string }
  /** Holds and settles under ids `name:0`, `name:1` … until it is killed, and reports each acknowledgement. */
  | { kind: 'churn'; accounts: string[]; priceNano: string; name: string; lanes: number };

const SNAPSHOT = {
  sku: 'race',
  modelId: 'race',
  provider: 'race',
  // A unit costs less than a nano unit, so that any charge agrees with it.
  units: '999999999999999',
  unit: 'part',
  pricePerUnitUsd: '0',
  requestId: 'race',
};

const environment = processEnvironment();
const order = JSON.parse(environment.LEDGER_RACE ?? '') as RaceOrder;
const pool = openPool({
  databaseUrl: environment.DATABASE_URL ?? '',
  applicationName: 'ledger-racer',
  max: 10,
});
const ledger = createLedger(pool);

function say(fact: unknown): void {
  process.stdout.write(`${JSON.stringify(fact)}\n`);
}

async function race(task: Extract<RaceOrder, { kind: 'race' }>): Promise<void> {
  const price = { usd: BigInt(task.priceNano), diem: BigInt(task.priceNano) };
  say({ ready: true });
  for (const [number, round] of task.rounds.entries()) {
    await pool.query('select pg_advisory_lock_shared($1)', [task.gun + number]);
    const outcomes = await Promise.all(
      Array.from({ length: task.holds }, async (_, index) => {
        const request = {
          operationId: `${task.name}:${number}:${index}`,
          ...round,
          price,
          snapshot: SNAPSHOT,
        };
        const outcome =
          task.charges && index % 50 === 0
            ? await charge(pool, request)
            : await ledger.hold({ ...request, ttlMs: 600_000 });
        return outcome.outcome;
      }),
    );
    const count = (word: string) => outcomes.filter((outcome) => outcome === word).length;
    say({
      round: number,
      admitted: count('held') + count('charged'),
      insufficient: count('insufficient'),
      keyLimit: count('key_limit'),
    });
  }
}

async function cross(task: Extract<RaceOrder, { kind: 'cross' }>): Promise<void> {
  const price = { usd: 1n, diem: 1n };
  say({ ready: true });
  for (const [number, payers] of task.rounds.entries()) {
    // Polls, because a clock jump ends a waiting statement with a timeout.
    while (!(await isFree(task.gun + number))) await sleep(5);
    const full = new Set<RaceRound>();
    let end = Number.POSITIVE_INFINITY;
    let turn = 0;
    const lane = async (payer: RaceRound) => {
      while (performance.now() < end) {
        turn += 1;
        const request = {
          operationId: `${task.name}:${number}:${turn}`,
          ...payer,
          price,
          snapshot: SNAPSHOT,
        };
        if (await spends(request, turn % 2 === 0)) continue;
        full.add(payer);
        if (full.size < payers.length || end < Number.POSITIVE_INFINITY) continue;
        end = performance.now() + task.forMs;
        say({ full: number });
      }
    };
    await Promise.all(payers.map(lane));
    say({ round: number });
  }
}

/** Spends by a charge or by a settled hold. Returns false if it was refused. */
async function spends(request: Parameters<typeof charge>[1], atOnce: boolean): Promise<boolean> {
  if (atOnce) return (await decided(() => charge(pool, request))).outcome === 'charged';
  const { outcome } = await decided(() => ledger.hold({ ...request, ttlMs: 600_000 }));
  if (outcome === 'held') await decided(() => ledger.settle(request));
  return outcome === 'held';
}

/** A clock jump ends running statements with a timeout, so this repeats them. */
async function decided<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof FareboxError && error.code === 'unavailable')) throw error;
    }
  }
}

async function isFree(lock: number): Promise<boolean> {
  const { rows } = await pool.query('select pg_try_advisory_lock_shared($1) as free', [lock]);
  return rows[0].free;
}

async function churn(task: Extract<RaceOrder, { kind: 'churn' }>): Promise<void> {
  const price = { usd: BigInt(task.priceNano), diem: BigInt(task.priceNano) };
  // Half of the bill, so that the rest is charged beyond the hold.
  const bound = { usd: price.usd / 2n, diem: price.diem / 2n };
  let next = 0;
  async function lane(): Promise<void> {
    for (;;) {
      const number = next++;
      const operationId = `${task.name}:${number}`;
      const accountId = task.accounts[number % task.accounts.length] ?? '';
      const request = { operationId, accountId, keyId: null, price: bound, ttlMs: 600_000 };
      await ledger.hold({ ...request, snapshot: SNAPSHOT });
      say({ held: number });
      await ledger.settle({ operationId, price });
      say({ settled: number });
    }
  }
  await Promise.all(Array.from({ length: task.lanes }, lane));
}

if (order.kind === 'race') await race(order);
else if (order.kind === 'cross') await cross(order);
else await churn(order);
await ledger.close();
await pool.end();
