/** Cache of usage analytics: equal bookings are summed once. */
import { LRUCache } from 'lru-cache';
import type { presentAnalytics } from './presentAnalytics.ts';

export type AnalyticsBody = ReturnType<typeof presentAnalytics>;

/** Cached answer of `name`; `horizon` changes with every booking, `sum` computes the answer. */
export type AnalyticsCache = (
  name: string,
  horizon: string,
  sum: () => Promise<AnalyticsBody>,
) => Promise<AnalyticsBody>;

interface AnalyticsEntry {
  horizon: string;
  body: Promise<AnalyticsBody>;
  /** By the monotonic clock, in milliseconds. */
  startedAt: number;
  /** Undefined while it is computed. */
  tookMs: number | undefined;
}

const CACHE_LIFE_MS = 600_000;
/** A slower computation is repeated only every ten minutes, not for every new entry. */
const DEAR_MS = 500;

/**
 * An answer is valid until the next booking, which its horizon shows; a slow one is used for ten minutes all the same.
 * Concurrent requests share one computation.
 */
export function createAnalyticsCache(): AnalyticsCache {
  const cache = new LRUCache<string, AnalyticsEntry>({ max: 200, ttl: CACHE_LIFE_MS });
  return async (name, horizon, sum) => {
    const known = cache.get(name);
    if (known && (known.horizon === horizon || isDear(known))) return await known.body;
    const body = sum();
    const made: AnalyticsEntry = { horizon, body, startedAt: performance.now(), tookMs: undefined };
    cache.set(name, made);
    try {
      return await body;
    } catch (error) {
      if (cache.peek(name) === made) cache.delete(name);
      throw error;
    } finally {
      made.tookMs = performance.now() - made.startedAt;
    }
  };
}

function isDear({ tookMs, startedAt }: AnalyticsEntry): boolean {
  return (tookMs ?? performance.now() - startedAt) > DEAR_MS;
}
