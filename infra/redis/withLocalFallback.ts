/** What is shared in Redis goes on without it: each process then counts alone. */
import { limiterAlone } from '../telemetry/counters.ts';

/** So long after a failure Redis is not asked again. */
const BLIND_MS = 1_000;

/** Does what is shared, and what this process can do alone while Redis does not answer. */
export function withLocalFallback(onFallback: (error: unknown) => void) {
  let blindUntil = 0;
  let doubtful = false;
  let probing = false;

  return async function orLocally<T>(shared: () => Promise<T>, alone: () => T | Promise<T>): Promise<T> {
    if (probing || Date.now() < blindUntil) return await alone();
    // After a failure one call finds out for all: a Redis that hangs would hold up each that asks for its deadline.
    const probe = doubtful;
    probing = probe;
    try {
      const answer = await shared();
      if (doubtful) limiterAlone.set(0);
      doubtful = false;
      return answer;
    } catch (error) {
      if (Date.now() >= blindUntil) onFallback(error);
      blindUntil = Date.now() + BLIND_MS;
      limiterAlone.set(1);
      doubtful = true;
      return await alone();
    } finally {
      if (probe) probing = false;
    }
  };
}
