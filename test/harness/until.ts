import { setTimeout as sleep } from 'node:timers/promises';

/** Long enough for the slowest machine. */
const LIMIT_MS = 180_000;

/**
 * Whether `work` ends before a timer that starts with it. A slow machine delays both, because they share one event
 * loop.
 */
export async function endsBefore(work: Promise<unknown>, ms: number): Promise<boolean> {
  const given = new AbortController();
  const late = sleep(ms, false, { signal: given.signal }).catch(() => false);
  return await Promise.race([work.then(() => true), late]).finally(() => given.abort());
}

/** Waits until `check` is true. Throws with `what` after `limitMs`. */
export async function until(what: string, check: () => boolean | Promise<boolean>, limitMs = LIMIT_MS): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await sleep(20);
  }
}
