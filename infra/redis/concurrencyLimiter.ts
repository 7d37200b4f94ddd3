/**
 * Limits the concurrent calls of an account over all processes. Each call has a lease in a Redis set that its process
 * renews, so that a dead process soon blocks nobody. While Redis does not answer, each process counts for itself.
 */
import type { Redis, Result } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { withLocalFallback } from './withLocalFallback.ts';

declare module 'ioredis' {
  interface RedisCommander<Context> {
    fareboxEnter(keys: number, ...given: (string | number)[]): Result<number, Context>;
    fareboxRenew(keys: number, ...given: (string | number)[]): Result<number, Context>;
  }
}

export interface ConcurrencyLimiter {
  /** Undefined: the account has reached its limit. `callId` is unique. */
  enter(accountId: string, callId: string, most: number): Promise<Leave | undefined>;
  close(): void;
}

/** Resolves when the next call can take the place; idempotent. Never throws. */
export type Leave = () => Promise<void>;

export interface ConcurrencyLimiterOptions {
  /** 30 s by default. */
  leaseMs?: number;
  onFallback?(error: unknown): void;
}

const CLOCK = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
`;

/** KEYS: the account's set. ARGV: the call, the limit, the lease in ms. 1: admitted. */
const ENTER = `${CLOCK}
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) and not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
`;

/** Renews the lease of an admitted call, even one that Redis has lost. KEYS, ARGV: the set; the call, the lease. */
const RENEW = `${CLOCK}
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`;

const LEASE_MS = 30_000;
const MAX_ACCOUNTS = 50_000;

export function createConcurrencyLimiter(redis: Redis, options: ConcurrencyLimiterOptions): ConcurrencyLimiter {
  const { leaseMs = LEASE_MS, onFallback = () => undefined } = options;
  redis.defineCommand('fareboxEnter', { lua: ENTER });
  redis.defineCommand('fareboxRenew', { lua: RENEW });
  const orAlone = withLocalFallback(onFallback);
  /** Calls of this process, used without Redis. */
  const own = new LRUCache<string, number>({ max: MAX_ACCOUNTS });
  const inside = new Map<string, string>();

  const renewal = setInterval(() => {
    for (const [callId, accountId] of inside) {
      redis.fareboxRenew(1, keyOf(accountId), callId, leaseMs).catch(() => undefined);
    }
  }, leaseMs / 3).unref();

  function count(accountId: string, change: 1 | -1): number {
    const here = Math.max(0, (own.get(accountId) ?? 0) + change);
    if (here === 0) own.delete(accountId);
    else own.set(accountId, here);
    return here;
  }

  async function leave(accountId: string, callId: string): Promise<void> {
    if (!inside.delete(callId)) return;
    count(accountId, -1);
    await orAlone(
      async () => void (await redis.zrem(keyOf(accountId), callId)),
      () => undefined,
    );
  }

  return {
    async enter(accountId, callId, most) {
      const here = count(accountId, 1);
      const isIn = await orAlone(
        async () => (await redis.fareboxEnter(1, keyOf(accountId), callId, most, leaseMs)) === 1,
        () => here <= most,
      );
      if (!isIn) {
        count(accountId, -1);
        return undefined;
      }
      inside.set(callId, accountId);
      return () => leave(accountId, callId);
    },
    close: () => clearInterval(renewal),
  };
}

function keyOf(accountId: string): string {
  return `farebox:{${accountId}}:in-flight`;
}
