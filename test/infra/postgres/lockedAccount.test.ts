/** A locked account row delays the calls of its own account only. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Ledger } from '../../../infra/postgres/createLedger.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from './ledgerWorld.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld();
});
afterAll(async () => {
  await world.expectSound();
  await world.close();
});

const OTHERS = 20;
const PAIRS = 100;

/** Locks the account's row like a stalled transaction; returns the unlock function. */
async function lockAccount(accountId: string): Promise<() => Promise<void>> {
  const client = await world.owner.connect();
  await client.query('begin');
  await client.query('select from accounts where id = $1 for update', [accountId]);
  return async () => {
    await client.query('rollback');
    client.release();
  };
}

/** Holds and settles for many accounts at once, several times per account. Rejects on a failure. */
async function drive(ledger: Ledger, accounts: string[]): Promise<void> {
  const lane = async (accountId: string) => {
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const request = order(accountId, both(2n));
      await ledger.hold({ ...request, ttlMs: 60_000 });
      await ledger.settle({ operationId: request.operationId, accountId, price: both(1n) });
    }
  };
  await Promise.all(accounts.map(lane));
}

describe('while the row of one account is locked', () => {
  // The ledger benchmark measures the delay of the others. Here all of their calls end while the lock is held.
  it('ends all calls of other accounts without a failure', async () => {
    const ledger = world.ledger({ deadlineMs: 90_000 });
    const others = await Promise.all(Array.from({ length: OTHERS }, () => world.account({ usd: 10_000n })));
    const locked = await world.account({ usd: 10_000n });
    const open = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const request = order(locked, both(1n));
        await ledger.hold({ ...request, ttlMs: 60_000 });
        return request.operationId;
      }),
    );
    const unlock = await lockAccount(locked);
    const ended: string[] = [];
    // Calls of the locked account share the batches: new holds, and settlements of its old ones.
    const waiting = open.map(async (operationId, index) => {
      await sleep(index * 20);
      const outcomes = await Promise.all([
        ledger.hold({ ...order(locked, both(1n)), ttlMs: 60_000 }),
        ledger.settle({ operationId, price: both(1n) }),
      ]);
      ended.push(operationId);
      return outcomes.map(({ outcome }) => outcome);
    });
    await drive(ledger, others);
    expect(ended).toEqual([]);
    await unlock();
    for (const outcomes of await Promise.all(waiting)) expect(outcomes).toEqual(['held', 'settled']);
  });

  it("ends the account's own calls as unavailable at their deadline, and accepts them afterwards", async () => {
    const ledger = world.ledger({ deadlineMs: 1_500 });
    const accountId = await world.account({ usd: 100n });
    const [first, second] = [order(accountId, both(1n)), order(accountId, both(1n))];
    await ledger.hold({ ...first, ttlMs: 60_000 });
    const unlock = await lockAccount(accountId);
    const startedAt = performance.now();
    const ended = await Promise.allSettled([
      ledger.hold({ ...second, ttlMs: 60_000 }),
      ledger.settle({ operationId: first.operationId, price: both(1n) }),
      ledger.settle({ operationId: first.operationId, accountId, price: both(1n) }),
    ]);
    expect(performance.now() - startedAt).toBeGreaterThan(1_400);
    for (const outcome of ended) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
    }
    await unlock();
    expect(await ledger.hold({ ...second, ttlMs: 60_000 })).toMatchObject({ outcome: 'held' });
    expect(await ledger.settle({ operationId: first.operationId, accountId, price: both(1n) })).toMatchObject({
      outcome: 'settled',
    });
  });

  it('lets more accounts than can wait at once continue when they are unlocked', async () => {
    const ledger = world.ledger();
    const accounts = await Promise.all(Array.from({ length: 12 }, () => world.account({ usd: 100n })));
    const client = await world.owner.connect();
    await client.query('begin');
    await client.query('select from accounts where id = any ($1) order by id for update', [accounts.slice(0, 11)]);
    const held = accounts.map((accountId) =>
      ledger.hold({ ...order(accountId, both(1n)), operationId: randomUUID(), ttlMs: 60_000 }),
    );
    expect(await held.at(-1)).toMatchObject({ outcome: 'held' });
    await client.query('rollback');
    client.release();
    for (const outcome of await Promise.all(held)) expect(outcome).toMatchObject({ outcome: 'held' });
  });
});
