/** Limits the concurrent calls of an account over all processes. A dead process blocks nobody for long. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, expect, it } from 'vitest';
import { createLogger } from '../../../infra/log.ts';
import {
  type ConcurrencyLimiter,
  createConcurrencyLimiter,
  type Leave,
} from '../../../infra/redis/concurrencyLimiter.ts';
import { openRedis, pingRedis } from '../../../infra/redis/connect.ts';
import { startRedis } from '../../harness/redis.ts';
import { services } from '../../harness/services.ts';
import { until } from '../../harness/until.ts';

const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0)) close();
});

function openLimiter(options: { leaseMs?: number } = {}): ConcurrencyLimiter {
  const redis = new Redis(services().redisUrl);
  const limiter = createConcurrencyLimiter(redis, options);
  opened.push(
    () => limiter.close(),
    () => redis.disconnect(),
  );
  return limiter;
}

async function enterAll(limiters: readonly ConcurrencyLimiter[], accountId: string, count: number): Promise<Leave[]> {
  const calls = Array.from({ length: count }, (_, turn) =>
    limiters[turn % limiters.length]?.enter(accountId, randomUUID(), 5),
  );
  return (await Promise.all(calls)).filter((leave) => leave !== undefined);
}

it('admits five of a hundred calls at once over two processes, and one more for each that ends', async () => {
  const limiters = [openLimiter(), openLimiter()];
  const accountId = randomUUID();
  const inside = await enterAll(limiters, accountId, 100);
  expect(inside).toHaveLength(5);
  await inside[0]?.();
  await inside[0]?.();
  expect(await enterAll(limiters, accountId, 10)).toHaveLength(1);
  expect(await enterAll(limiters, randomUUID(), 10)).toHaveLength(5);
});

it('keeps the place of a running call, and frees that of a dead process after its lease', async () => {
  const [living, dying] = [openLimiter({ leaseMs: 3_000 }), openLimiter({ leaseMs: 3_000 })];
  const accountId = randomUUID();
  expect(await enterAll([living], accountId, 2)).toHaveLength(2);
  expect(await enterAll([dying], accountId, 3)).toHaveLength(3);
  dying.close();
  let entered = 0;
  await until(
    'the places of the dead one are free',
    async () => {
      entered += (await enterAll([living], accountId, 10)).length;
      return entered >= 3;
    },
    8_000,
  );
  // The calls of the living process have outlasted their first lease by now.
  expect(entered + (await enterAll([living], accountId, 10)).length).toBe(3);
});

it('counts per process without Redis', async () => {
  const redis = await startRedis(path.join(services().folder, `limiter-${randomUUID()}`));
  const log = createLogger({ level: 'silent', name: 'test' });
  const connection = openRedis(redis.url, log);
  opened.push(() => connection.disconnect());
  await pingRedis(connection, 60_000);
  const limiter = createConcurrencyLimiter(connection, {});
  opened.push(() => limiter.close());
  const accountId = randomUUID();
  const [first] = await enterAll([limiter], accountId, 2);
  await redis.kill();
  expect(await enterAll([limiter], accountId, 10)).toHaveLength(3);
  await first?.();
  expect(await enterAll([limiter], accountId, 10)).toHaveLength(1);
});
