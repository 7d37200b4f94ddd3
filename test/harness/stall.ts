/**
 * The longest turn of this process's event loop, in time that its thread really ran: what other processes of a busy
 * machine take away is no fault of the code that is measured.
 */
import { readFileSync } from 'node:fs';

export interface Stall {
  /** The longest turn since the start or the last reset. */
  longestMs(): number;
  reset(): void;
  stop(): void;
}

const PROBE_EVERY_MS = 2;
/** Limit for a text made to be slow: in time that grows with the square of its length it takes minutes. Sound code takes milliseconds. */
export const MAX_HOSTILE_MS = 2_000;
/** Limit for a turn: what is computed elsewhere, or in pieces, takes far less, and otherwise seconds. `bench stalls` has the bar itself. */
export const MAX_TURN_MS = 250;
const MAX_ATTEMPTS = 5;

/**
 * The longest turn that `work` itself causes: what the code costs comes back each time it runs, the collector of garbage
 * does not. Ends with the first attempt below `enoughMs`.
 */
export async function longestTurn(work: () => Promise<unknown>, enoughMs: number): Promise<number> {
  const stall = measureStall();
  let leastMs = Number.POSITIVE_INFINITY;
  try {
    for (let attempt = 0; attempt < MAX_ATTEMPTS && leastMs >= enoughMs; attempt += 1) {
      stall.reset();
      await work();
      leastMs = Math.min(leastMs, stall.longestMs());
    }
    return leastMs;
  } finally {
    stall.stop();
  }
}

export function measureStall(): Stall {
  let longest = 0;
  let last = ranMs();
  const probe = () => {
    const now = ranMs();
    longest = Math.max(longest, now - last);
    last = now;
    timer = setTimeout(probe, PROBE_EVERY_MS);
  };
  let timer = setTimeout(probe, PROBE_EVERY_MS);
  return {
    longestMs: () => Math.max(longest, ranMs() - last),
    reset() {
      longest = 0;
      last = ranMs();
    },
    stop: () => clearTimeout(timer),
  };
}

/** For how long the main thread of this process ran: the first figure of Linux's schedstat, nanoseconds on a processor. */
export function ranMs(): number {
  return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ', 1)[0]) / 1e6;
}
