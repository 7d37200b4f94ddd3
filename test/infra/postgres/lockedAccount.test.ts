/** One account's row is locked by somebody else: its own calls wait, those of others go on. */
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

const LOCKED_MS = 6_000;
const OTHERS = 20;
const PAUSE_MS = 20;
/** Waits of a busy machine, for which nobody's lock is to blame. */
const NOISE_MS = 150;

/** Holds the account's row as a stalled transaction does; answers its end. */
async function lockAccount(accountId: string): Promise<() => Promise<void>> {
  const client = await world.owner.connect();
  await client.query('begin');
  await client.query('select from accounts where id = $1 for update', [accountId]);
  return async () => {
    await client.query('rollback');
    client.release();
  };
}

/** Pairs of hold and settlement of many accounts at a steady pace; how long each took, and what failed. */
async function drive(ledger: Ledger, accounts: string[]): Promise<{ times: number[]; failures: unknown[] }> {
  const times: number[] = [];
  const failures: unknown[] = [];
  const until = performance.now() + LOCKED_MS;
  const lane = async (accountId: string) => {
    while (performance.now() < until) {
      const { operationId, ...request } = order(accountId, both(2n));
      const startedAt = performance.now();
      try {
        await ledger.hold({ operationId, ...request, ttlMs: 60_000 });
        await ledger.settle({ operationId, accountId, price: both(1n) });
      } catch (error) {
        failures.push(error);
      }
      times.push(performance.now() - startedAt);
      await sleep(PAUSE_MS);
    }
  };
  await Promise.all(accounts.map(lane));
  return { times: times.sort((a, b) => a - b), failures };
}

const p99 = (times: number[]) => times[Math.floor(times.length * 0.99)] ?? 0;

describe('while the row of one account is locked', () => {
  it('other accounts see no failure and hardly a delay', { timeout: 60_000 }, async () => {
    const ledger = world.ledger();
    const others = await Promise.all(Array.from({ length: OTHERS }, () => world.account({ usd: 10_000n })));
    const locked = await world.account({ usd: 10_000n });
    const open = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const request = order(locked, both(1n));
        await ledger.hold({ ...request, ttlMs: 60_000 });
        return request.operationId;
      }),
    );
    const before = await drive(ledger, others);
    const unlock = await lockAccount(locked);
    let isLocked = true;
    // Calls of the locked account throughout: new holds, and the ends of those that it has.
    const waiting = open.map(async (operationId, index) => {
      await sleep((index * LOCKED_MS) / open.length);
      const later = ledger.hold({ ...order(locked, both(1n)), ttlMs: 60_000 });
      const settled = ledger.settle({ operationId, price: both(1n) });
      const wasEarly = await Promise.race([later, settled]).then(() => isLocked);
      return { early: wasEarly, outcomes: [(await later).outcome, (await settled).outcome] };
    });
    const during = await drive(ledger, others);
    isLocked = false;
    await unlock();
    for (const end of await Promise.all(waiting)) {
      expect(end).toEqual({ early: false, outcomes: ['held', 'settled'] });
    }
    expect([...before.failures, ...during.failures]).toEqual([]);
    expect(p99(during.times)).toBeLessThan(3 * p99(before.times) + NOISE_MS);
  });

  it('its own calls end as unavailable at their deadline, and get through afterwards', async () => {
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
    expect(await ledger.settle({ operationId: first.operationId, accountId, price: both(1n) })).toMatchObject(
      { outcome: 'settled' },
    );
  });

  it('more accounts than can wait at once get through when theirs is free', async () => {
    const ledger = world.ledger();
    const accounts = await Promise.all(Array.from({ length: 12 }, () => world.account({ usd: 100n })));
    const client = await world.owner.connect();
    await client.query('begin');
    await client.query('select from accounts where id = any ($1) order by id for update', [
      accounts.slice(0, 11),
    ]);
    const held = accounts.map((accountId) =>
      ledger.hold({ ...order(accountId, both(1n)), operationId: randomUUID(), ttlMs: 60_000 }),
    );
    expect(await held.at(-1)).toMatchObject({ outcome: 'held' });
    await client.query('rollback');
    client.release();
    for (const outcome of await Promise.all(held)) expect(outcome).toMatchObject({ outcome: 'held' });
  });
});
