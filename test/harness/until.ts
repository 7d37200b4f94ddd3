import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for `check` to become true; throws with `what` when it does not in time. */
export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  limitMs: number,
): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await sleep(20);
  }
}
