/** Two processes share one budget: under concurrent requests, exactly what the budget covers is admitted. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { services } from '../../harness/services.ts';
import { type Spawned, spawnNode } from '../../harness/spawn.ts';
import type { RaceOrder, RaceRound } from '../../stubs/ledgerRacer.ts';
import { createLedgerWorld, type LedgerWorld } from './ledgerWorld.ts';
import { longRun } from './longRun.ts';

const ROUNDS = longRun(10, 100);
const BUDGET = 5_000_000_000n;
const PRICE = 100_000_000n;
const HOLDS_EACH = 500;

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld();
});
afterAll(() => world.close());

interface RoundResult {
  round: number;
  admitted: number;
  insufficient: number;
  keyLimit: number;
}

function racer(order: RaceOrder): Spawned {
  return spawnNode({
    script: 'dist/test/stubs/ledgerRacer.js',
    name: 'ledger-racer',
    environment: { DATABASE_URL: world.databaseUrl, LEDGER_RACE: JSON.stringify(order) },
    runFolder: services().runFolder,
  });
}

function linesOf(spawned: Spawned): Record<string, unknown>[] {
  const whole = spawned.logs().split('\n').slice(0, -1);
  return whole.map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function until(condition: () => boolean, spawned: Spawned[]): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`timed out:\n${spawned.map((one) => one.logs()).join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Runs all rounds in two processes. A round starts in both at once when its advisory lock is released. */
async function runRace(name: string, rounds: RaceRound[], charges: boolean): Promise<number[]> {
  const gun = Math.floor(Math.random() * 1_000_000_000);
  const client = await world.owner.connect();
  try {
    for (const number of rounds.keys()) await client.query('select pg_advisory_lock($1)', [gun + number]);
    const base = { kind: 'race' as const, gun, rounds, holds: HOLDS_EACH, priceNano: String(PRICE), charges };
    const racers = ['a', 'b'].map((who) => racer({ ...base, name: `${name}:${who}` }));
    await until(() => racers.every((one) => linesOf(one).length > 0), racers);
    for (const number of rounds.keys()) {
      await client.query('select pg_advisory_unlock($1)', [gun + number]);
      await until(() => racers.every((one) => linesOf(one).some((line) => line.round === number)), racers);
    }
    await Promise.all(racers.map((one) => one.exit));
    const results = racers.flatMap(linesOf).filter((line) => line.round !== undefined) as unknown as RoundResult[];
    return [...rounds.keys()].map((number) => {
      const both = results.filter((result) => result.round === number);
      const all = both.map((result) => result.admitted + result.insufficient + result.keyLimit);
      expect(all).toEqual([HOLDS_EACH, HOLDS_EACH]);
      return both.reduce((sum, result) => sum + result.admitted, 0);
    });
  } finally {
    client.release();
  }
}

describe('1,000 concurrent holds of 0.10 USD from two processes', () => {
  it(
    'against a balance of 5.00 are admitted exactly 50 times, every round',
    async () => {
      const rounds: RaceRound[] = [];
      for (let number = 0; number < ROUNDS; number += 1) {
        rounds.push({ accountId: await world.account({ usd: BUDGET }), keyId: null });
      }
      expect(await runRace('balance', rounds, false)).toEqual(rounds.map(() => 50));
      for (const { accountId } of rounds) {
        expect(await world.balance(accountId)).toMatchObject({ usd: 0n, held: { usd: BUDGET } });
      }
      await world.expectSound();
    },
    ROUNDS * 6_000,
  );

  it.each(['EPOCH', 'MONTH', 'LIFETIME'] as const)(
    "against a key's limit of 5.00 per %s are admitted exactly 50 times, every round",
    async (period) => {
      const rounds: RaceRound[] = [];
      for (let number = 0; number < ROUNDS; number += 1) {
        const accountId = await world.account({ usd: BUDGET * 100n });
        rounds.push({ accountId, keyId: await world.key(accountId, { usd: BUDGET, period }) });
      }
      expect(await runRace(period, rounds, false)).toEqual(rounds.map(() => 50));
      await world.expectSound();
    },
    ROUNDS * 6_000,
  );

  it(
    'with immediate charges among them, over diem, bundled credit and usd, are admitted exactly 50 times',
    async () => {
      const rounds: RaceRound[] = [];
      for (let number = 0; number < ROUNDS; number += 1) {
        const accountId = await world.account({
          usd: 2_030_000_000n,
          bundled: 1_970_000_000n,
          diem: 1_000_000_000n,
        });
        rounds.push({ accountId, keyId: await world.key(accountId) });
      }
      expect(await runRace('mixed', rounds, true)).toEqual(rounds.map(() => 50));
      await world.expectSound();
    },
    ROUNDS * 6_000,
  );
});
