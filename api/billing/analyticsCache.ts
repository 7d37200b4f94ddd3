/** Usage analytics that were summed before: nothing is summed twice for the same bookings. */
import { LRUCache } from 'lru-cache';
import type { presentAnalytics } from './presentAnalytics.ts';

export type AnalyticsBody = ReturnType<typeof presentAnalytics>;

/** Answers under `name`; `horizon` changes with every booking, `sum` makes the answer anew. */
export type AnalyticsCache = (
  name: string,
  horizon: string,
  sum: () => Promise<AnalyticsBody>,
) => Promise<AnalyticsBody>;

interface Known {
  horizon: string;
  body: Promise<AnalyticsBody>;
  /** By the monotonic clock, in milliseconds. */
  startedAt: number;
  /** Undefined while it is being made. */
  tookMs: number | undefined;
}

const CACHE_LIFE_MS = 600_000;
/** Summing that took longer is not done again for every new entry, but every ten minutes. */
const DEAR_MS = 500;

/**
 * An answer is good as long as nothing was booked since, which its horizon tells; one that was dear to make is given
 * for its ten minutes all the same. Who asks while it is being made waits for the same one.
 */
export function createAnalyticsCache(): AnalyticsCache {
  const cache = new LRUCache<string, Known>({ max: 200, ttl: CACHE_LIFE_MS });
  return async (name, horizon, sum) => {
    const known = cache.get(name);
    if (known && (known.horizon === horizon || isDear(known))) return await known.body;
    const body = sum();
    const made: Known = { horizon, body, startedAt: performance.now(), tookMs: undefined };
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

function isDear({ tookMs, startedAt }: Known): boolean {
  return (tookMs ?? performance.now() - startedAt) > DEAR_MS;
}
