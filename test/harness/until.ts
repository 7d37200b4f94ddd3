import { setTimeout as sleep } from 'node:timers/promises';

/** Long enough for the slowest machine: it only ends what never comes. */
const LIMIT_MS = 60_000;

/**
 * Whether `work` of this process ends before a timer that begins with it. Both are of one event loop, so that a machine that
 * is slow holds up the timer as well.
 */
export async function endsBefore(work: Promise<unknown>, ms: number): Promise<boolean> {
  const given = new AbortController();
  const late = sleep(ms, false, { signal: given.signal }).catch(() => false);
  return await Promise.race([work.then(() => true), late]).finally(() => given.abort());
}

/** Waits for `check` to become true; throws with `what` when it never does. */
export async function until(what: string, check: () => boolean | Promise<boolean>, limitMs = LIMIT_MS): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await sleep(20);
  }
}
