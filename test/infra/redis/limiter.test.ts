/** Rate-limit windows over all processes: the exact limit in a burst, and in any span of a window's length. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../../infra/log.ts';
import { openRedis, pingRedis } from '../../../infra/redis/connect.ts';
import { type Counter, createLimiter, createLocalLimiter, type Limiter } from '../../../infra/redis/limiter.ts';
import { startRedis } from '../../harness/redis.ts';
import { services } from '../../harness/services.ts';

const connections: Redis[] = [];
let processes: Limiter[];
beforeAll(() => {
  for (let count = 0; count < 2; count += 1) connections.push(new Redis(services().redisUrl));
  processes = connections.map((redis) => createLimiter(redis));
});
afterAll(() => {
  for (const redis of connections) redis.disconnect();
});

const about = { apiKeyId: 'key', modelId: 'model', rateLimitTier: 'paid' };

function counter(changes: Partial<Counter> = {}): Counter {
  return { type: 'RPM', subject: 'model', limit: 10, cost: 1, windowMs: 60_000, ...changes };
}

async function admitted(limiter: Limiter, accountId: string, counters: Counter[]): Promise<boolean> {
  const { refusedBy } = await limiter.admit({ accountId, counters, about });
  return refusedBy === undefined;
}

describe.each([
  ['shared in Redis', (turn: number) => processes[turn % processes.length] as Limiter],
  [
    'alone without Redis',
    (
      (local) => () =>
        local
    )(createLocalLimiter()),
  ],
])('a window %s', (_name, limiterOf) => {
  it.each([1, 20, 500])('admits exactly %i of a thousand calls at once', async (limit) => {
    const accountId = randomUUID();
    const calls = Array.from({ length: 1_000 }, (_, turn) =>
      admitted(limiterOf(turn), accountId, [counter({ limit })]),
    );
    expect((await Promise.all(calls)).filter(Boolean)).toHaveLength(limit);
  });

  it('admits nothing with a limit of zero, and calls of any cost up to the limit', async () => {
    const accountId = randomUUID();
    expect(await admitted(limiterOf(0), accountId, [counter({ limit: 0 })])).toBe(false);
    const tokens = (cost: number) => [counter({ type: 'TPM', limit: 1_000, cost })];
    expect(await admitted(limiterOf(0), accountId, tokens(600))).toBe(true);
    expect(await admitted(limiterOf(1), accountId, tokens(401))).toBe(false);
    expect(await admitted(limiterOf(1), accountId, tokens(400))).toBe(true);
    expect(await admitted(limiterOf(0), accountId, tokens(1))).toBe(false);
  });

  it('admits a call above the limit into an empty window, and then nothing', async () => {
    const accountId = randomUUID();
    const tokens = (cost: number) => [counter({ type: 'TPM', limit: 100, cost })];
    expect(await admitted(limiterOf(0), accountId, tokens(5_000))).toBe(true);
    expect(await admitted(limiterOf(0), accountId, tokens(1))).toBe(false);
  });

  it('counts in all windows or in none', async () => {
    const accountId = randomUUID();
    const full = counter({ subject: 'full', limit: 1 });
    const wide = counter({ subject: 'wide', limit: 5 });
    expect(await admitted(limiterOf(0), accountId, [full, wide])).toBe(true);
    for (let turn = 0; turn < 9; turn += 1) {
      expect(await admitted(limiterOf(turn), accountId, [wide, full])).toBe(false);
    }
    const { states } = await limiterOf(0).admit({ accountId, counters: [{ ...wide, cost: 0 }], about });
    expect(states[0]?.total).toBe(1);
  });

  it('subtracts a correction from the window that counted it', async () => {
    const accountId = randomUUID();
    const tokens = counter({ type: 'TPM', limit: 100, cost: 80 });
    const { at } = await limiterOf(0).admit({ accountId, counters: [tokens], about });
    await limiterOf(1).correct(accountId, tokens, { count: -70, at });
    expect(await admitted(limiterOf(0), accountId, [tokens])).toBe(true);
    await limiterOf(0).correct(accountId, tokens, { count: -1_000, at });
    const looked = await limiterOf(1).admit({ accountId, counters: [{ ...tokens, cost: 0 }], about });
    expect(looked.states[0]?.total).toBeGreaterThanOrEqual(0);
    expect(looked.states[0]?.total).toBeLessThanOrEqual(80);
  });

  it('counts every correction, also concurrent ones', async () => {
    const accountId = randomUUID();
    const tokens = counter({ type: 'TPM', subject: 'many', limit: 1_000_000, cost: 1_000 });
    const other = { ...tokens, subject: 'another' };
    const { at } = await limiterOf(0).admit({ accountId, counters: [tokens, other], about });
    const corrections = Array.from({ length: 300 }, (_, turn) =>
      turn % 3
        ? limiterOf(0).correct(accountId, tokens, { count: turn, at })
        : limiterOf(0).correct(accountId, other, { count: -1 }),
    );
    await Promise.all(corrections);
    const looking = [tokens, other].map((each) => ({ ...each, cost: 0 }));
    const { states } = await limiterOf(1).admit({ accountId, counters: looking, about });
    const sum = Array.from({ length: 300 }, (_, turn) => (turn % 3 ? turn : 0)).reduce((a, b) => a + b);
    expect(states[0]?.total).toBe(1_000 + sum);
    expect(states[1]?.total).toBeLessThanOrEqual(1_000);
    expect(states[1]?.total).toBeGreaterThanOrEqual(900);
  });

  it('gives concurrent calls of one kind their own place each', async () => {
    const accountId = randomUUID();
    const wide = counter({ subject: 'key', limit: 1_000, cost: 3 });
    const call = { accountId, counters: [wide, counter({ limit: 40 })], about };
    const other = { accountId, counters: [counter({ subject: 'other', limit: 1_000 })], about };
    const together = Array.from({ length: 300 }, (_, turn) => limiterOf(0).admit(turn % 3 ? call : other));
    const admissions = await Promise.all(together);
    const ofKind = admissions.filter((_, turn) => turn % 3 > 0);
    const places = ofKind.map(({ refusedBy, states }) => [refusedBy?.limit, ...states.map((s) => s.total)]);
    const admitted = Array.from({ length: 40 }, (_, index) => [undefined, (index + 1) * 3, index + 1]);
    expect(places).toEqual([...admitted, ...Array.from({ length: 160 }, () => [40, 120, 40])]);
    const others = admissions.filter((_, turn) => turn % 3 === 0).map(({ states }) => states[0]?.total);
    expect(others).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
    expect(await limiterOf(0).refusals(accountId)).toHaveLength(50);
    const [left] = (await limiterOf(1).admit({ ...call, counters: [{ ...wide, cost: 0 }] })).states;
    expect(left?.total).toBe(120);
  });

  it('never admits more than its limit in any span of its length, and uses all of it', async () => {
    const accountId = randomUUID();
    const [limit, windowMs] = [20, 600];
    const times: number[] = [];
    const end = Date.now() + 4 * windowMs;
    for (let turn = 0; Date.now() < end; turn += 1) {
      const call = { accountId, counters: [counter({ limit, windowMs })], about };
      const { refusedBy, at } = await limiterOf(turn).admit(call);
      if (!refusedBy) times.push(at);
      if (turn % 3 === 0) await sleep(1);
    }
    for (const [index, time] of times.entries()) {
      const later = times[index + limit];
      if (later !== undefined) expect(later - time).toBeGreaterThanOrEqual(windowMs);
    }
    expect(times.length).toBeGreaterThanOrEqual(3 * limit);
  });

  it('reports when capacity is free again, and it is', async () => {
    const accountId = randomUUID();
    const one = [counter({ limit: 1, windowMs: 600 })];
    const { at, states } = await limiterOf(0).admit({ accountId, counters: one, about });
    const resetsAt = states[0]?.resetsAt ?? 0;
    expect(resetsAt - at).toBeGreaterThan(590);
    expect(resetsAt - at).toBeLessThanOrEqual(620);
    expect(await admitted(limiterOf(1), accountId, one)).toBe(false);
    await sleep(resetsAt - Date.now() + 5);
    expect(await admitted(limiterOf(1), accountId, one)).toBe(true);
  });

  it('keeps the last fifty refusals of an account, newest first', async () => {
    const accountId = randomUUID();
    const limits = [counter({ limit: 1_000 }), counter({ type: 'FAILED_REQUESTS', limit: 0, cost: 0 })];
    for (let turn = 0; turn < 55; turn += 1) {
      const named = { ...about, modelId: `model ${turn} %s %t` };
      await limiterOf(0).admit({ accountId, counters: limits, about: named });
    }
    const refusals = await limiterOf(0).refusals(accountId);
    expect(refusals).toHaveLength(50);
    expect(refusals[0]).toMatchObject({
      apiKeyId: 'key',
      rateLimitType: 'FAILED_REQUESTS',
      rateLimitTier: 'paid',
    });
    expect(refusals.map(({ modelId }) => modelId.split(' ')[1])).toEqual(
      Array.from({ length: 50 }, (_, index) => String(54 - index)),
    );
    expect(Math.abs((refusals[0]?.at ?? 0) - Date.now())).toBeLessThan(5_000);
    expect(await limiterOf(0).refusals(randomUUID())).toEqual([]);
  });
});

it('without Redis each process counts for itself, says so once a second at most, and is back by itself', async () => {
  const redis = new Redis('redis://127.0.0.1:1', {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
  });
  redis.on('error', () => undefined);
  let told = 0;
  const limiter = createLimiter(redis, () => {
    told += 1;
  });
  const accountId = randomUUID();
  const calls = Array.from({ length: 100 }, () => admitted(limiter, accountId, [counter({ limit: 7 })]));
  expect((await Promise.all(calls)).filter(Boolean)).toHaveLength(7);
  expect(told).toBe(1);
  redis.disconnect();
});

it('lets one call at a time wait for a hanging Redis, counts the others locally, and recovers', async () => {
  const hanging = await startRedis(path.join(services().folder, randomUUID()));
  const redis = openRedis(hanging.url, createLogger({ level: 'silent', name: 'test' }));
  await pingRedis(redis, 60_000);
  const limiter = createLimiter(redis);
  const accountId = randomUUID();
  const wide = [counter({ limit: 1_000_000 })];
  const call = async () => expect(await admitted(limiter, accountId, wide)).toBe(true);
  await call();
  hanging.stall();
  // Calls from before the fault is known.
  await Promise.all(Array.from({ length: 20 }, call));
  const calls: Promise<void>[] = [];
  let waiting = 0;
  let mostWaiting = 0;
  for (let turn = 0; turn < 200; turn += 1) {
    waiting += 1;
    calls.push(call().finally(() => (waiting -= 1)));
    await sleep(10);
    mostWaiting = Math.max(mostWaiting, waiting);
  }
  // One call tries Redis, and perhaps the next one when that fails.
  expect(mostWaiting).toBeLessThanOrEqual(2);
  await Promise.all(calls);
  hanging.goOn();
  const counted = async () => Number(await redis.hget(`farebox:{${accountId}}:RPM:model`, 't').catch(() => 0));
  // Hanging calls are counted late. Later growth shows that calls are counted in Redis again.
  await expect.poll(counted).toBeGreaterThan(0);
  const before = await counted();
  const grown = async () => {
    await call();
    return await counted();
  };
  await expect.poll(grown).toBeGreaterThan(before);
  redis.disconnect();
  await hanging.kill();
});
