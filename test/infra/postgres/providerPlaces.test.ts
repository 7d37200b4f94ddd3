/** Admission to a provider's job slots: as many jobs as slots, and a share for every account. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closeSubmission, recordOperation } from '../../../infra/postgres/submissions.ts';
import { type FlowWorld, openFlowWorld, PROVIDER } from './flowWorld.ts';

let world: FlowWorld;
beforeAll(async () => {
  world = await openFlowWorld(20);
});
afterAll(() => world.close());

/** Each test has its own provider, and so its own queue. */
const newLine = () => `${PROVIDER}-${randomUUID()}`;

describe('provider job slots', () => {
  it('never exceed the limit, however many workers ask at once', async () => {
    const jobs = await world.jobs(await world.account(), 60, newLine());
    const gates = await Promise.all(jobs.map((job) => world.open(job, { concurrent: 7 })));
    expect(gates.filter(({ go }) => go === 'submit')).toHaveLength(7);
    expect(gates.filter(({ go }) => go === 'wait')).toHaveLength(53);
  });

  it('are unlimited when no limit is configured', async () => {
    const account = await world.account();
    for (const job of await world.jobs(account, 30, newLine())) expect((await world.open(job)).go).toBe('submit');
    expect(await world.running(account)).toBe(30);
  });

  it('are counted separately for each entry', async () => {
    const account = await world.account();
    const [one = ''] = await world.jobs(account, 1, newLine());
    const [other = ''] = await world.jobs(account, 1, newLine());
    expect((await world.open(one, { concurrent: 1 })).go).toBe('submit');
    expect((await world.open(other, { concurrent: 1 })).go).toBe('submit');
  });

  it('are free again when their job has ended, and when the provider accepted nothing', async () => {
    const [first = '', second = '', third = ''] = await world.jobs(await world.account(), 3, newLine());
    const limits = { concurrent: 1 };
    expect((await world.open(first, limits)).go).toBe('submit');
    expect((await world.open(second, limits)).go).toBe('wait');
    await world.finish(first);
    expect((await world.open(second, limits)).go).toBe('submit');
    expect((await world.open(third, limits)).go).toBe('wait');
    await closeSubmission(world.ledger.pool, second);
    expect((await world.open(third, limits)).go).toBe('submit');
    expect((await world.open(second, limits)).go).toBe('wait');
  });

  it('are not requested again by a job that has one, after its worker died or its provider answered', async () => {
    const [job = ''] = await world.jobs(await world.account(), 1, newLine());
    const limits = { concurrent: 1, perMinute: 1 };
    expect(await world.open(job, limits)).toEqual({ go: 'submit' });
    expect(await world.open(job, limits)).toEqual({ go: 'ask' });
    await recordOperation(world.ledger.pool, job, { id: 'there' });
    expect(await world.open(job, limits)).toEqual({ go: 'poll', operation: { id: 'there' } });
    await world.finish(job);
    expect(await world.open(job, limits)).toEqual({ go: 'stop', state: 'stored' });
  });
});

describe('the fair share of an account', () => {
  it('is all slots while there is no other account', async () => {
    const account = await world.account();
    const line = newLine();
    for (const job of await world.jobs(account, 10, line)) await world.open(job, { concurrent: 10 });
    expect(await world.running(account)).toBe(10);
  });

  it('gives the next free slot to the first job of a second account behind a burst of 1,000', async () => {
    const [burst, second] = [await world.account(), await world.account()];
    const line = newLine();
    const limits = { concurrent: 20 };
    const many = await world.jobs(burst, 1_000, line);
    for (const job of many.slice(0, 20)) expect((await world.open(job, limits)).go).toBe('submit');
    const [first = ''] = await world.jobs(second, 1, line);
    expect(await world.open(first, limits)).toMatchObject({ go: 'wait', waitsFor: 'place' });
    await world.finish(many[0] ?? '');
    expect(await world.admitOne(many.slice(20, 60), limits)).toBeUndefined();
    expect((await world.open(first, limits)).go).toBe('submit');
    // Nobody with fewer slots is waiting: the rest is for the burst again.
    await world.finish(many[1] ?? '');
    expect(await world.admitOne(many.slice(20, 60), limits)).toBe(many[20]);
  });

  it('is equal for all who wait, and its unused part is free for anybody', async () => {
    const line = newLine();
    const limits = { concurrent: 10 };
    const accounts = await Promise.all([world.account(), world.account(), world.account()]);
    const lists = await Promise.all(accounts.map((account, i) => world.jobs(account, i === 2 ? 2 : 30, line)));
    // All ask in turns, the greedy account ten times as often.
    for (let turn = 0; turn < 6; turn += 1) {
      await world.admitOne(lists[2] ?? [], limits);
      await world.admitOne(lists[1] ?? [], limits);
      for (const job of lists[0]?.slice(0, 10) ?? []) await world.open(job, limits);
    }
    const running = await Promise.all(accounts.map((account) => world.running(account)));
    expect(running).toEqual([4, 4, 2]);
  });

  it('is one slot each when there are more accounts than slots', async () => {
    const line = newLine();
    const limits = { concurrent: 4 };
    const greedy = await world.account();
    const many = await world.jobs(greedy, 50, line);
    const others = await Promise.all(Array.from({ length: 8 }, () => world.account()));
    const single = (await Promise.all(others.map((account) => world.jobs(account, 1, line)))).flat();
    for (const job of many) await world.open(job, limits);
    expect(await world.running(greedy)).toBe(1);
    for (const job of single) await world.open(job, limits);
    const running = await Promise.all(others.map((account) => world.running(account)));
    expect(running.reduce((sum, count) => sum + count, 0)).toBe(3);
  });
});

describe('the pause before a job asks again', () => {
  it('is at most a second for an account below its share, and grows with its own jobs ahead', async () => {
    const [burst, second] = [await world.account(), await world.account()];
    const line = newLine();
    const limits = { concurrent: 5 };
    const many = await world.jobs(burst, 1_000, line);
    for (const job of many.slice(0, 5)) await world.open(job, limits);
    await sleep(300);
    const pause = async (job = '') => {
      const gate = await world.open(job, limits);
      return gate.go === 'wait' ? gate.retryAfterMs : 0;
    };
    const [first] = await world.jobs(second, 3, line);
    expect(await pause(first)).toBeLessThanOrEqual(1_000);
    expect(await pause(many[5])).toBeLessThanOrEqual(1_000);
    const [near, far] = [await pause(many[50]), await pause(many[999])];
    expect(near).toBeGreaterThan(1_000);
    expect(far).toBeGreaterThan(near);
    expect(far).toBeLessThanOrEqual(37_500);
  });
});

describe('submissions per minute', () => {
  it("never exceed the provider's limit, and are free again one by one", async () => {
    const account = await world.account();
    const line = newLine();
    const limits = { perMinute: 5 };
    const jobs = await world.jobs(account, 20, line);
    const gates = await Promise.all(jobs.map((job) => world.open(job, limits)));
    expect(gates.filter(({ go }) => go === 'submit')).toHaveLength(5);
    // The time of submission counts, whether or not the job has ended.
    await world.finish(...jobs.slice(0, 3));
    expect(await world.admitOne(jobs, limits)).toBeUndefined();
    await world.ledger.owner.query(
      `update provider_starts set at = at - interval '1 minute' where at in (
         select at from provider_starts where provider = $1 order by at limit 2) and provider = $1`,
      [line],
    );
    const later = await Promise.all(jobs.map((job) => world.open(job, limits)));
    expect(later.filter(({ go }) => go === 'submit')).toHaveLength(2);
  });

  it('are shared among accounts like slots', async () => {
    const [burst, second] = [await world.account(), await world.account()];
    const line = newLine();
    const limits = { perMinute: 6 };
    const many = await world.jobs(burst, 20, line);
    const few = await world.jobs(second, 2, line);
    for (const job of many) await world.open(job, limits);
    expect(await world.running(burst)).toBe(3);
    for (const job of few) expect((await world.open(job, limits)).go).toBe('submit');
    expect(await world.admitOne(many, limits)).toBeDefined();
  });

  it('count again for a job that the provider did not accept and that is submitted again', async () => {
    const [job = ''] = await world.jobs(await world.account(), 1, newLine());
    const limits = { perMinute: 2 };
    for (const expected of ['submit', 'submit', 'wait']) {
      expect((await world.open(job, limits)).go).toBe(expected);
      await closeSubmission(world.ledger.pool, job);
    }
  });
});
