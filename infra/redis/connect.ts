/** Connection to Redis with a deadline per command. It reconnects for ever, and no command waits for that. */
import { once } from 'node:events';
import { Redis } from 'ioredis';
import type { Logger } from '../log.ts';

const MAX_PAUSE_MS = 2_000;

/**
 * Without a connection commands fail at once, so that callers continue without Redis and do not queue. Connects in the
 * background.
 */
export function openRedis(url: string, log: Logger): Redis {
  const redis = new Redis(url, {
    connectTimeout: 2_000,
    commandTimeout: 1_000,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    keepAlive: 10_000,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 10), MAX_PAUSE_MS),
  });
  let reachable = true;
  redis.on('ready', () => {
    if (!reachable) log.info({ part: 'redis' }, 'Redis is reachable again');
    reachable = true;
  });
  redis.on('error', (error) => {
    // Logged once per loss: reconnects run twice a second.
    if (reachable) log.warn({ part: 'redis', err: error }, 'Redis is not reachable');
    reachable = false;
  });
  return redis;
}

/** Resolves when Redis answers; waits for a running connection attempt. */
export async function pingRedis(redis: Redis, timeoutMs: number): Promise<void> {
  if (redis.status !== 'ready') await once(redis, 'ready', { signal: AbortSignal.timeout(timeoutMs) });
  await redis.ping();
}
