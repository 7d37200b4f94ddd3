import { setTimeout as sleep } from 'node:timers/promises';

/** Repeats `check` until it no longer throws; throws its last error, with `what`, when that takes over `timeoutMs`. */
export async function untilTrue(what: string, check: () => Promise<void>, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) {
        throw new Error(`${what} after ${Math.round(timeoutMs / 1_000)} s: ${(error as Error).message}`);
      }
    }
    await sleep(50);
  }
}
