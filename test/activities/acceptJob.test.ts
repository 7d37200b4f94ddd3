/** The charging activity when it runs twice, late, or beside a stalled run: one charge with its job, or neither. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptJob } from '../../activities/acceptJob.ts';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import { abandonJob } from '../../activities/endJob.ts';
import { wasWithdrawn } from '../../domain/jobs.ts';
import { confirmAcceptance, findJob } from '../../infra/postgres/jobs.ts';
import { grant } from '../../infra/postgres/ledger.ts';
import { createLedgerWorld, type LedgerWorld } from '../infra/postgres/ledgerWorld.ts';
import { acceptingDependencies, orderOf } from './measuredOrders.ts';
import { retryWaiting } from './retryWaiting.ts';

let world: LedgerWorld;
let dependencies: ActivityDependencies;
beforeAll(async () => {
  world = await createLedgerWorld();
  dependencies = acceptingDependencies(world.pool);
});
afterAll(async () => {
  await world.expectSound();
  await world.close();
});

const RICH = 10n ** 12n;

/** The same order after its time limit. */
const tooLate = (order: ReturnType<typeof orderOf>) => ({ ...order, job: { ...order.job, acceptBy: Date.now() - 1 } });

async function charges(accountId: string): Promise<number> {
  const booked = await world.transfersOf(accountId);
  const of = (kind: string) => booked.filter((row) => row.kind === kind).length;
  return of('charge') - of('refund');
}

describe('an acceptance whose result was lost', () => {
  it('returns the same result when it runs again, also after the time limit', async () => {
    const accountId = await world.account({ usd: RICH });
    const order = orderOf(accountId);
    const first = await acceptJob(dependencies, order);
    expect(first).toMatchObject({ ok: true, durationSeconds: 2 });
    expect(await acceptJob(dependencies, tooLate(order))).toEqual(first);
    expect(await charges(accountId)).toBe(1);
  });

  it('returns the same result when its model is no longer sold or its account has no funds left', async () => {
    const first = orderOf(await world.account({ usd: RICH, diem: RICH }));
    const answer = await acceptJob(dependencies, first);
    expect(answer).toMatchObject({ ok: true, paid: expect.stringMatching(/ diem$/) });
    const without = { ...dependencies, models: new Map() };
    expect(await acceptJob(without, first)).toEqual(answer);
    const poor = orderOf(await world.account({ usd: 60_000_000n }));
    expect(await acceptJob(dependencies, poor)).toMatchObject({ ok: true });
    expect(await acceptJob(dependencies, poor)).toMatchObject({ ok: true });
    expect(await charges(poor.job.accountId)).toBe(1);
  });
});

describe('an acceptance after the time limit', () => {
  it('charges nothing and reports that it is late', async () => {
    const accountId = await world.account({ usd: RICH });
    const late = orderOf(accountId, Date.now() - 1);
    expect(await acceptJob(dependencies, late)).toMatchObject({ ok: false, code: 'unavailable' });
    expect(await charges(accountId)).toBe(0);
    expect(await findJob(world.pool, late.job)).toBeUndefined();
  });

  it('is refused also when only the lock on the account delayed it', async () => {
    const accountId = await world.account({ usd: RICH });
    const holder = await world.owner.connect();
    await holder.query('begin');
    await holder.query('select from accounts where id = $1 for update', [accountId]);
    const late = orderOf(accountId, Date.now() + 200);
    const waiting = retryWaiting(() => acceptJob(dependencies, late));
    await sleep(400);
    await holder.query('commit');
    holder.release();
    expect(await waiting).toMatchObject({ ok: false, code: 'unavailable' });
    expect(await charges(accountId)).toBe(0);
  });

  it('waits for a run that stalls after its charge, and returns its acceptance', async () => {
    const accountId = await world.account({ usd: RICH });
    const order = orderOf(accountId);
    const stalled = stallAtCommit();
    const first = acceptJob({ ...dependencies, pool: stalled.pool }, order);
    await stalled.reached;
    const second = retryWaiting(() => acceptJob(dependencies, tooLate(order)));
    await sleep(100);
    stalled.resume();
    expect(await first).toMatchObject({ ok: true });
    expect(await second).toMatchObject({ ok: true, chargeId: order.job.queueId });
    expect(await charges(accountId)).toBe(1);
  });
});

describe('an order that was withdrawn or refused', () => {
  it('cannot be accepted by a run that continues afterwards', async () => {
    const accountId = await world.account({ usd: RICH });
    const order = orderOf(accountId);
    await abandonJob(dependencies, order.job);
    expect(await acceptJob(dependencies, order)).toMatchObject({ ok: false, code: 'unavailable' });
    expect(await charges(accountId)).toBe(0);
    const poor = orderOf(await world.account());
    expect(await acceptJob(dependencies, poor)).toMatchObject({ ok: false, code: 'insufficient_balance' });
    const money = { operationId: randomUUID(), accountId: poor.job.accountId, amount: RICH, notes: 'test' };
    await grant(world.pool, { ...money, currency: 'usd' });
    expect(await acceptJob(dependencies, poor)).toMatchObject({ ok: false });
    expect(await charges(poor.job.accountId)).toBe(0);
  });

  it('is refunded when it was charged, whether the charge or the withdrawal comes first', async () => {
    for (let round = 0; round < 20; round += 1) {
      const accountId = await world.account({ usd: RICH });
      const order = orderOf(accountId);
      const [accepted] = await Promise.all([
        acceptJob(dependencies, order),
        sleep(round % 5).then(() => abandonJob(dependencies, order.job)),
      ]);
      expect(await charges(accountId), `round ${round}: ${accepted.ok}`).toBe(0);
    }
  });
});

describe('a job whose client read its acceptance from the job row', () => {
  it('is not withdrawn: its terms are returned, and its charge and its source stay', async () => {
    const accountId = await world.account({ usd: RICH });
    const order = orderOf(accountId);
    const accepted = await acceptJob(dependencies, order);
    expect(await confirmAcceptance(world.pool, order.job)).toMatchObject({ state: 'accepted' });
    const { ok, ...terms } = accepted as Extract<typeof accepted, { ok: true }>;
    expect(ok).toBe(true);
    expect(await abandonJob(dependencies, order.job)).toEqual(terms);
    expect(await charges(accountId)).toBe(1);
    expect(await findJob(world.pool, order.job)).toMatchObject({ state: 'accepted', refundId: null });
  });

  it('is either withdrawn before the client reads it, or read and never withdrawn', async () => {
    const ends = new Set<string>();
    for (let round = 0; round < 40; round += 1) {
      const accountId = await world.account({ usd: RICH });
      const order = orderOf(accountId);
      await acceptJob(dependencies, order);
      const pauseMs = (Math.max(0, 20 - round) * 3) / 10;
      const [confirmed, standing] = await Promise.all([
        sleep(pauseMs).then(() => confirmAcceptance(world.pool, order.job)),
        sleep(Math.max(0, round - 20) / 4).then(() => abandonJob(dependencies, order.job)),
      ]);
      const isTold = confirmed !== undefined && !wasWithdrawn(confirmed);
      ends.add(`told ${isTold}, stands ${standing !== undefined}, charged ${await charges(accountId)}`);
    }
    const possible = ['told true, stands true, charged 1', 'told false, stands false, charged 0'];
    expect([...ends].filter((end) => !possible.includes(end))).toEqual([]);
  });
});

/** Returns a pool whose next transaction stalls before its commit. */
function stallAtCommit() {
  let resume: () => void = () => undefined;
  let reach: () => void = () => undefined;
  const resumed = new Promise<void>((resolve) => {
    resume = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const pool = new Proxy(world.pool, {
    get(target, name) {
      if (name !== 'connect') return Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name);
      return async () => {
        const client = await target.connect();
        return new Proxy(client, {
          get(inner, member) {
            const value = Reflect.get(inner, member);
            if (member !== 'query') return typeof value === 'function' ? value.bind(inner) : value;
            return async (...given: [never]) => {
              if ((given[0] as unknown) === 'commit') {
                reach();
                await resumed;
              }
              return await inner.query(...given);
            };
          },
        });
      };
    },
  });
  return { pool, reached, resume: () => resume() };
}
