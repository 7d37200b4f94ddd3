/** Measures the longest event loop turn in CPU time of its thread, so that a busy machine does not count. */
import { readFileSync } from 'node:fs';

export interface Stall {
  /** Longest turn since the start or the last reset. */
  longestMs(): number;
  reset(): void;
  stop(): void;
}

const PROBE_EVERY_MS = 2;
/** Limit for a hostile text. Quadratic code takes minutes, sound code takes milliseconds. */
export const MAX_HOSTILE_MS = 2_000;
/**
 * Limit for a turn. Work elsewhere or in pieces takes far less, other work takes seconds. `bench stalls` has the real
 * bar.
 */
export const MAX_TURN_MS = 250;
const MAX_ATTEMPTS = 5;

/**
 * Longest turn caused by `work`. Repetition separates its cost from garbage collection. Ends with the first attempt
 * below `enoughMs`.
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

/** CPU time of the main thread: the first figure of Linux's schedstat, in nanoseconds. */
export function ranMs(): number {
  return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ', 1)[0]) / 1e6;
}
