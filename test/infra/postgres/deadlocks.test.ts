/** All ledger acts at once, in every order, from the pools of several processes: no deadlock. */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLedger, type Ledger } from '../../../infra/postgres/createLedger.ts';
import { expireHolds } from '../../../infra/postgres/holdExpiry.ts';
import { adjust, charge, grant, refund } from '../../../infra/postgres/ledger.ts';
import { openPool } from '../../../infra/postgres/pool.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from './ledgerWorld.ts';
import { longRun } from './longRun.ts';

const ACCOUNTS = 60;
const SECONDS = longRun(4, 60);

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld(16);
});
afterAll(() => world.close());

const any = <T>(list: T[]): T => list[Math.floor(Math.random() * list.length)] as T;

interface Stage {
  accounts: { accountId: string; keyId: string }[];
  ledgers: Ledger[];
  pools: pg.Pool[];
  /** Charges so far, which refunds choose from. */
  charges: string[];
}

async function holdAndEnd({ accounts, ledgers, charges }: Stage): Promise<void> {
  const request = order('', both(BigInt(Math.ceil(Math.random() * 9))), any(accounts));
  const outcome = await any(ledgers).hold({ ...request, ttlMs: Math.random() < 0.3 ? 1 : 60_000 });
  if (outcome.outcome !== 'held') return;
  const { operationId } = request;
  if (Math.random() < 0.7) await any(ledgers).settle({ operationId, price: both(2n) });
  else await any(ledgers).release({ operationId });
  charges.push(operationId);
}

async function chargeOnce({ accounts, pools, charges }: Stage): Promise<void> {
  const request = order('', both(3n), any(accounts));
  charges.push(request.operationId);
  await charge(any(pools), request);
}

async function refundOnce({ pools, charges }: Stage): Promise<void> {
  if (charges.length === 0) return;
  const operationId = any(charges);
  await refund(any(pools), { operationId, chargeOperationId: operationId, reason: 'x' });
}

async function creditOnce({ accounts, pools }: Stage): Promise<void> {
  const { accountId } = any(accounts);
  const operationId = randomUUID();
  await grant(any(pools), { operationId, accountId, currency: 'usd', amount: 5n, notes: '' });
}

async function adjustOnce({ accounts, pools }: Stage): Promise<void> {
  const { accountId } = any(accounts);
  const currency = any(['usd', 'diem'] as const);
  const amount = any([-3n, 3n]);
  await adjust(any(pools), { operationId: randomUUID(), accountId, currency, amount, notes: '' });
}

async function limitOnce({ accounts }: Stage): Promise<void> {
  const usd = BigInt(Math.ceil(Math.random() * 1_000));
  await world.setLimits(any(accounts).keyId, { usd, period: 'MONTH' });
}

/** Each act, with the number of lanes that repeat it. */
const ACTS: [number, (stage: Stage) => Promise<unknown>][] = [
  [96, holdAndEnd],
  [6, chargeOnce],
  [6, refundOnce],
  [6, creditOnce],
  [6, adjustOnce],
  [6, limitOnce],
  [6, ({ pools }) => expireHolds(any(pools), 20)],
];

/** Runs for this many seconds, and longer until enough acts were made. */
async function perform(stage: Stage): Promise<void> {
  const until = performance.now() + SECONDS * 1_000;
  let done = 0;
  const lane = async (act: (stage: Stage) => Promise<unknown>) => {
    while (performance.now() < until || done <= SECONDS * 50) {
      await act(stage);
      done += 1;
    }
  };
  await Promise.all(ACTS.flatMap(([lanes, act]) => Array.from({ length: lanes }, () => lane(act))));
}

describe('holds, settlements, charges, refunds, credit, limits and sweeps over many accounts in random order', () => {
  it(
    'never deadlock, and leave sound books',
    async () => {
      const accounts: Stage['accounts'] = [];
      for (let index = 0; index < ACCOUNTS; index += 1) {
        const accountId = await world.account({ usd: 1_000n, bundled: 50n, diem: 50n });
        const parent = await world.key(accountId, { usd: 900n, period: 'MONTH' });
        const child = await world.key(accountId, { usd: 500n }, parent);
        accounts.push({ accountId, keyId: parent }, { accountId, keyId: child });
      }
      const second = openPool({ databaseUrl: world.databaseUrl, applicationName: 'second', max: 8 });
      const ledgers = [
        world.ledger(),
        createLedger(second, { maxInFlight: 3, maxBatch: 40 }),
        createLedger(second, { maxBatch: 1, maxInFlight: 3 }),
      ];
      await perform({ accounts, ledgers, pools: [world.pool, second], charges: [] });
      await Promise.all(ledgers.map((ledger) => ledger.close()));
      await second.end();
      const { rows } = await world.owner.query<{ deadlocks: string }>(
        'select deadlocks from pg_stat_database where datname = current_database()',
      );
      expect(rows[0]?.deadlocks).toBe('0');
      await world.expectSound();
    },
    SECONDS * 1_000 + 60_000,
  );
});
