export interface HeldTimers {
  /** Runs the held timers that were set at least `leastAgeMs` ago and not cleared. */
  fire(leastAgeMs?: number): void;
  release(): void;
}

interface Held {
  ms: number;
  timers: Map<NodeJS.Timeout | undefined, { act: () => void; since: number }>;
}

const holders = new Set<Held>();
const { setTimeout: set, clearTimeout: clear } = globalThis;

/** Holds back the timers of this process with exactly this length until the test fires them, on any machine. */
export function holdTimers(ms: number): HeldTimers {
  const held: Held = { ms, timers: new Map() };
  if (holders.size === 0) Object.assign(globalThis, { setTimeout: setOrHold, clearTimeout: clearHeld });
  holders.add(held);
  return {
    fire(leastAgeMs = 0) {
      const until = Date.now() - leastAgeMs;
      for (const [timer, { act, since }] of [...held.timers]) {
        if (since > until) continue;
        clearHeld(timer);
        act();
      }
    },
    release() {
      holders.delete(held);
      if (holders.size === 0) Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
    },
  };
}

function setOrHold(act: (...values: unknown[]) => void, ms?: number, ...values: unknown[]): NodeJS.Timeout {
  const own = [...holders].filter((each) => each.ms === ms);
  if (own.length === 0) return set(act, ms, ...values);
  // The placeholder does nothing and never becomes due.
  const timer = set(() => undefined, 2 ** 31 - 1).unref();
  for (const { timers } of own) timers.set(timer, { act: () => act(...values), since: Date.now() });
  return timer;
}

function clearHeld(timer: NodeJS.Timeout | undefined): void {
  for (const { timers } of holders) timers.delete(timer);
  clear(timer);
}
