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

/** First figure of Linux's schedstat: nanoseconds on a processor, of the main thread. */
function ranMs(): number {
  return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ', 1)[0]) / 1e6;
}
