import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { createRpcCache } from '../../../infra/redis/rpcCache.ts';

/** A client of a Redis that does not exist. */
function nowhere(): Redis {
  const redis = new Redis({ port: 1, lazyConnect: true, enableOfflineQueue: false, maxRetriesPerRequest: 0 });
  redis.on('error', () => undefined);
  return redis;
}

describe('kept answers without Redis', () => {
  it('are those that this process has kept itself', async () => {
    const redis = nowhere();
    const cache = createRpcCache(redis);
    expect(await cache.get(['a', 'b'])).toEqual([undefined, undefined]);
    await cache.set('a', '1', 60);
    expect(await cache.get(['b', 'a', 'a'])).toEqual([undefined, '1', '1']);
    redis.disconnect();
  });

  it('exclude answers that are too large', async () => {
    const redis = nowhere();
    const cache = createRpcCache(redis);
    await cache.set('a', 'x'.repeat(256 * 1024 + 1), 60);
    expect(await cache.get(['a'])).toEqual([undefined]);
    redis.disconnect();
  });
});
