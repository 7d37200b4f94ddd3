/**
 * Cache of final chain results: in Redis for all processes, and the last used ones in this process too. Without Redis
 * it is empty. Bench `rpc`.
 */
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';

const PREFIX = 'farebox:rpc:';
const MAX_BYTES = 256 * 1024;
const MAX_LOCAL_BYTES = 16 * 1024 * 1024;
const LOCAL_TTL_MS = 60_000;
/** Pause in ms after a failure before Redis is tried again. */
const BLIND_MS = 1_000;

export interface RpcAnswerCache {
  /** In the order of the keys; undefined for missing ones. Never throws. */
  get(keys: readonly string[]): Promise<(string | undefined)[]>;
  /** `ttl` in seconds. More than 256 kB is not stored. Never throws. */
  set(key: string, value: string, ttl: number): Promise<void>;
}

export function createRpcCache(redis: Redis): RpcAnswerCache {
  const local = new LRUCache<string, string>({
    maxSize: MAX_LOCAL_BYTES,
    sizeCalculation: (value, key) => value.length + key.length,
    ttl: LOCAL_TTL_MS,
  });
  const doubt = { blindUntil: 0 };

  async function orNothing<T>(ask: () => Promise<T>): Promise<T | undefined> {
    if (Date.now() < doubt.blindUntil) return undefined;
    try {
      return await ask();
    } catch {
      doubt.blindUntil = Date.now() + BLIND_MS;
      return undefined;
    }
  }

  return {
    async get(keys) {
      const found = keys.map((key) => local.get(key));
      const missing = [...new Set(keys.filter((_, index) => found[index] === undefined))];
      if (missing.length === 0) return found;
      const kept = await orNothing(() => redis.mget(missing.map((key) => `${PREFIX}${key}`)));
      const shared = new Map<string, string>();
      for (const [index, key] of missing.entries()) {
        const value = kept?.[index];
        if (typeof value !== 'string') continue;
        shared.set(key, value);
        local.set(key, value);
      }
      return found.map((value, index) => value ?? shared.get(keys[index] as string));
    },
    async set(key, value, ttl) {
      if (Buffer.byteLength(value) > MAX_BYTES) return;
      local.set(key, value);
      await orNothing(() => redis.set(`${PREFIX}${key}`, value, 'EX', ttl));
    },
  };
}
