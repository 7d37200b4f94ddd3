/** Falls back to the state of this process while Redis does not answer. */
import { limiterAlone } from '../telemetry/counters.ts';

/** Pause in ms after a failure before Redis is tried again. */
const BLIND_MS = 1_000;

/** Runs the shared variant, and the local one while Redis does not answer. */
export function withLocalFallback(onFallback: (error: unknown) => void) {
  let blindUntil = 0;
  let doubtful = false;
  let probing = false;

  return async function orLocally<T>(shared: () => Promise<T>, alone: () => T | Promise<T>): Promise<T> {
    if (probing || Date.now() < blindUntil) return await alone();
    // After a failure one call probes for all: a Redis that hangs would delay each call by its deadline.
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
