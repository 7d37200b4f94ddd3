/** So many calls of an account at once and no more, over all processes; a process that died blocks nobody for long. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, expect, it } from 'vitest';
import { createLogger } from '../../../infra/log.ts';
import { openRedis, pingRedis } from '../../../infra/redis/connect.ts';
import { type Crowd, createCrowd, type Leave } from '../../../infra/redis/crowd.ts';
import { startRedis } from '../../harness/redis.ts';
import { services } from '../../harness/services.ts';

const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0)) close();
});

function openCrowd(options: { leaseMs?: number } = {}): Crowd {
  const redis = new Redis(services().redisUrl);
  const crowd = createCrowd(redis, options);
  opened.push(
    () => crowd.close(),
    () => redis.disconnect(),
  );
  return crowd;
}

async function enterAll(crowds: readonly Crowd[], accountId: string, count: number): Promise<Leave[]> {
  const calls = Array.from({ length: count }, (_, turn) =>
    crowds[turn % crowds.length]?.enter(accountId, randomUUID(), 5),
  );
  return (await Promise.all(calls)).filter((leave) => leave !== undefined);
}

it('of a hundred calls at once over two processes five are in; each that leaves makes room for one', async () => {
  const crowds = [openCrowd(), openCrowd()];
  const accountId = randomUUID();
  const inside = await enterAll(crowds, accountId, 100);
  expect(inside).toHaveLength(5);
  await inside[0]?.();
  await inside[0]?.();
  expect(await enterAll(crowds, accountId, 10)).toHaveLength(1);
  expect(await enterAll(crowds, randomUUID(), 10)).toHaveLength(5);
});

it('a call keeps its place as long as it lasts, and that of a dead process is free after its lease', async () => {
  const [living, dying] = [openCrowd({ leaseMs: 300 }), openCrowd({ leaseMs: 300 })];
  const accountId = randomUUID();
  expect(await enterAll([living], accountId, 2)).toHaveLength(2);
  expect(await enterAll([dying], accountId, 3)).toHaveLength(3);
  dying.close();
  await sleep(800);
  expect(await enterAll([living], accountId, 10)).toHaveLength(3);
});

it('without Redis each process counts for itself', async () => {
  const redis = await startRedis(path.join(services().folder, `crowd-${randomUUID()}`));
  const log = createLogger({ level: 'silent', name: 'test' });
  const connection = openRedis(redis.url, log);
  opened.push(() => connection.disconnect());
  await pingRedis(connection, 5_000);
  const crowd = createCrowd(connection, {});
  opened.push(() => crowd.close());
  const accountId = randomUUID();
  const [first] = await enterAll([crowd], accountId, 2);
  await redis.kill();
  expect(await enterAll([crowd], accountId, 10)).toHaveLength(3);
  await first?.();
  expect(await enterAll([crowd], accountId, 10)).toHaveLength(1);
});
