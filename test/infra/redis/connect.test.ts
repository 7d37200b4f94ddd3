import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../infra/log.ts';
import { openRedis, pingRedis } from '../../../infra/redis/connect.ts';
import { services } from '../../harness/services.ts';

const silent = createLogger({ level: 'silent', name: 'test' });

describe('the connection to Redis', () => {
  it('answers a command', async () => {
    const redis = openRedis(services().redisUrl, silent);
    await pingRedis(redis, 60_000);
    expect(await redis.ping()).toBe('PONG');
    redis.disconnect();
  });

  it('fails at once while Redis is down, instead of queueing commands', async () => {
    const redis = openRedis('redis://127.0.0.1:1', silent);
    await expect(redis.get('x')).rejects.toThrow();
    await expect(pingRedis(redis, 500)).rejects.toThrow();
    redis.disconnect();
  });

  it('reconnects by itself', async () => {
    const redis = openRedis(services().redisUrl, silent);
    await pingRedis(redis, 60_000);
    const killer = openRedis(services().redisUrl, silent);
    await pingRedis(killer, 60_000);
    await killer.client('KILL', 'ID', String(await redis.client('ID')));
    await expect.poll(() => redis.ping().catch(() => 'lost')).toBe('PONG');
    redis.disconnect();
    killer.disconnect();
  });
});
