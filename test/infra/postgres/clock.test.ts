/**
 * Days, months and lifetimes of limits by the clock that decides them, that of the database server. libfaketime sets it
 * and lets it pass the boundary while two processes with wrong clocks keep sending requests.
 */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expireHolds } from '../../../infra/postgres/holdExpiry.ts';
import { charge, refund } from '../../../infra/postgres/ledger.ts';
import { type ClockedPostgres, startClockedPostgres } from '../../harness/clockedPostgres.ts';
import { type FakedClock, fakedClock } from '../../harness/fakedClock.ts';
import { services } from '../../harness/services.ts';
import { type Spawned, spawnNode } from '../../harness/spawn.ts';
import type { RaceOrder, RaceRound } from '../../stubs/ledgerRacer.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from './ledgerWorld.ts';

/** Limit of an account or a key per period. */
const LIMIT = 6n;
/** Time before the boundary when all limits are used up, and time that the processes continue after it. */
const BEFORE_MS = 100;
const CROSSING_MS = 600;

let postgres: ClockedPostgres;
let clock: FakedClock;
beforeAll(async () => {
  // Downloads libfaketime on its first run on a machine.
  clock = await fakedClock();
  postgres = await startClockedPostgres(path.join(services().folder, randomUUID()));
});
afterAll(() => postgres?.stop());

let world: LedgerWorld;
beforeEach(async () => {
  world = await createLedgerWorld(8, await postgres.createDatabase());
});
afterEach(async () => {
  await world.expectSound();
  await world.close();
});

describe('requests across a boundary', () => {
  /** First moment after each boundary, and the limits that reset there. A LIFETIME limit never resets. */
  const EDGES = [
    { at: '2026-11-22T00:00:00Z', what: 'a day', anew: ['EPOCH', 'diem'] },
    { at: '2026-12-01T00:00:00Z', what: 'a month of 30 days', anew: ['EPOCH', 'MONTH', 'diem'] },
    { at: '2027-01-01T00:00:00Z', what: 'a month of 31 days and a year', anew: ['EPOCH', 'MONTH', 'diem'] },
    { at: '2027-03-01T00:00:00Z', what: 'a month of 28 days', anew: ['EPOCH', 'MONTH', 'diem'] },
    { at: '2028-02-29T00:00:00Z', what: 'the 28th of February of a leap year', anew: ['EPOCH', 'diem'] },
    { at: '2028-03-01T00:00:00Z', what: 'a month of 29 days', anew: ['EPOCH', 'MONTH', 'diem'] },
  ];
  const LIMITED = ['EPOCH', 'MONTH', 'LIFETIME', 'diem'] as const;

  it('are admitted exactly up to the limit on both sides, at the end of each kind of month', async () => {
    const rounds = await Promise.all(EDGES.map(() => Promise.all(LIMITED.map(payerOf))));
    await crossAll(rounds);
    const admitted = await Promise.all(rounds.map((payers) => Promise.all(payers.map(admittedByDay))));
    const expected = EDGES.map(({ at, anew }) => {
      const [last, first] = [earlier(at, 1).slice(0, 10), at.slice(0, 10)];
      return LIMITED.map((limit) => (anew.includes(limit) ? { [last]: LIMIT, [first]: LIMIT } : { [last]: LIMIT }));
    });
    expect(admitted).toEqual(expected);
    const { rows } = await world.owner.query(
      `select * from operations where kind = 'charge' and day <> (created_at at time zone 'UTC')::date`,
    );
    expect(rows).toEqual([]);
  });

  async function payerOf(limit: (typeof LIMITED)[number]): Promise<RaceRound> {
    if (limit === 'diem') return { accountId: await world.account({ diem: LIMIT }), keyId: null };
    const accountId = await world.account({ usd: 1_000_000n });
    return { accountId, keyId: await world.key(accountId, { usd: LIMIT, period: limit }) };
  }

  async function crossAll(rounds: RaceRound[][]): Promise<void> {
    const gun = Math.floor(Math.random() * 1_000_000_000);
    const client = await world.owner.connect();
    try {
      for (const number of rounds.keys()) await client.query('select pg_advisory_lock($1)', [gun + number]);
      const racers = [5, -5].map((hours) => {
        const name = `${hours} hours off`;
        return racer({ kind: 'cross', gun, rounds, forMs: CROSSING_MS, name }, clock.skewed(hours));
      });
      await said(racers, '"ready"');
      for (const [number, { at }] of EDGES.entries()) {
        await postgres.setClock(earlier(at, 3_600_000));
        await client.query('select pg_advisory_unlock($1)', [gun + number]);
        await said(racers, `"full":${number}}`);
        await postgres.setClock(earlier(at, BEFORE_MS));
        await said(racers, `"round":${number}}`);
        await fill(rounds[number] ?? []);
      }
      expect(await Promise.all(racers.map((one) => one.exit))).toEqual(racers.map(() => ({ code: 0, signal: null })));
    } finally {
      client.release();
    }
  }

  /** Uses up what the processes left of the limits. */
  async function fill(payers: RaceRound[]): Promise<void> {
    for (const { accountId, keyId } of payers) {
      while ((await charged(order(accountId, both(1n), { keyId }))) === 'charged');
    }
  }

  async function admittedByDay({ accountId }: RaceRound): Promise<Record<string, bigint>> {
    const { rows } = await world.owner.query<{ day: string; amount: string }>(
      `select day::text, sum(coalesce(usd + diem, held_usd + held_diem)) as amount from operations
        where account_id = $1 and kind = 'charge' group by day`,
      [accountId],
    );
    return Object.fromEntries(rows.map(({ day, amount }) => [day, BigInt(amount)]));
  }
});

describe('a refund after the reset', () => {
  it.each([
    ['EPOCH', '2028-02-28T23:59:30Z', '2028-02-29T00:00:01Z'],
    ['MONTH', '2028-02-29T23:59:30Z', '2028-03-01T00:00:01Z'],
    ['MONTH', '2026-12-31T23:59:30Z', '2027-01-01T00:00:01Z'],
  ] as const)('of %s counts in the period of its charge: %s, not %s', async (period, before, after) => {
    const account = await world.account({ usd: 1_000n, diem: 0n });
    const key = await world.key(account, { usd: LIMIT, period });
    await postgres.setClock(before);
    const first = order(account, both(LIMIT), { keyId: key });
    expect(await charged(first)).toBe('charged');
    await postgres.setClock(after);
    expect(await charged(order(account, both(LIMIT), { keyId: key }))).toBe('charged');
    await refund(world.pool, { operationId: 'r', chargeOperationId: first.operationId, reason: 'x' });
    expect(await charged(order(account, both(1n), { keyId: key }))).toBe('key_limit');
    expect(await world.balance(account)).toMatchObject({ usd: 1_000n - LIMIT });
    const { rows } = await world.owner.query(
      'select day::text, usd_used from key_days where key_id = $1 order by day',
      [key],
    );
    expect(rows).toEqual([
      { day: before.slice(0, 10), usd_used: '0' },
      { day: after.slice(0, 10), usd_used: String(LIMIT) },
    ]);
  });

  it("makes room again within the charge's month or lifetime, but not for a past diem day", async () => {
    const account = await world.account({ usd: 1_000n, diem: LIMIT });
    const keys = [
      await world.key(account, { usd: LIMIT, period: 'MONTH' }),
      await world.key(account, { usd: LIMIT, period: 'LIFETIME' }),
    ];
    await postgres.setClock('2028-02-28T23:59:30Z');
    const diem = order(account, both(LIMIT));
    expect(await charged(diem)).toBe('charged');
    const firsts = keys.map((keyId) => order(account, { usd: LIMIT, diem: 0n }, { keyId }));
    for (const first of firsts) expect(await charged(first)).toBe('charged');
    await postgres.setClock('2028-02-29T00:00:01Z');
    expect(await charged(order(account, { usd: 0n, diem: 4n }))).toBe('charged');
    for (const { operationId } of [diem, ...firsts]) {
      await refund(world.pool, { operationId: randomUUID(), chargeOperationId: operationId, reason: 'x' });
    }
    expect(await world.balance(account)).toMatchObject({ diem: LIMIT - 4n, usd: 1_000n });
    for (const keyId of keys) {
      expect(await charged(order(account, { usd: LIMIT, diem: 0n }, { keyId }))).toBe('charged');
      expect(await charged(order(account, { usd: 1n, diem: 0n }, { keyId }))).toBe('key_limit');
    }
  });
});

it('settles a hold in the day that it was made, and expires it by the clock of the database', async () => {
  const account = await world.account({ diem: LIMIT });
  const ledger = world.ledger();
  await postgres.setClock('2027-02-28T23:59:30Z');
  const [settled, forgotten] = [order(account, both(4n)), order(account, both(2n))];
  for (const hold of [settled, forgotten]) await ledger.hold({ ...hold, ttlMs: 60_000 });
  await postgres.setClock('2027-03-01T00:00:01Z');
  await ledger.settle({ operationId: settled.operationId, price: both(3n) });
  expect(await expired()).toBe(0);
  await postgres.setClock('2027-03-01T00:01:01Z');
  expect(await expired()).toBe(1);
  expect(await world.balance(account)).toMatchObject({ diem: LIMIT });
  const { rows } = await world.owner.query('select day::text, posted, held from diem_days where account_id = $1', [
    account,
  ]);
  expect(rows).toEqual([{ day: '2027-02-28', posted: String(LIMIT - 3n), held: '0' }]);
});

async function charged(request: Parameters<typeof charge>[1]): Promise<string> {
  return (await charge(world.pool, request)).outcome;
}

async function expired(): Promise<number> {
  return (await expireHolds(world.pool, 100)).expired;
}

function earlier(at: string, ms: number): string {
  return new Date(Date.parse(at) - ms).toISOString();
}

function racer(task: RaceOrder, clockEnvironment: Record<string, string>): Spawned {
  return spawnNode({
    script: 'dist/test/stubs/ledgerRacer.js',
    name: 'ledger-racer',
    environment: { DATABASE_URL: world.databaseUrl, LEDGER_RACE: JSON.stringify(task), ...clockEnvironment },
    runFolder: services().runFolder,
  });
}

async function said(racers: Spawned[], words: string): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!racers.every((one) => one.logs().includes(words))) {
    if (Date.now() > deadline) throw new Error(`${words}?\n${racers.map((one) => one.logs()).join('\n')}`);
    await sleep(5);
  }
}
