/**
 * Holds that a caller abandoned because their outcome stayed unknown: released in the background before they expire.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { abandonedHolds } from '../telemetry/counters.ts';

interface UnknownHold {
  operationId: string;
  accountId: string;
}

export interface AbandonedHolds {
  /** Above the limit a hold is left to expire. */
  add(hold: UnknownHold): void;
  close(): void;
}

interface AbandonedHold extends UnknownHold {
  since: number;
}

const MAX_HOLDS = 1_000;
/** An earlier statement may still write the hold for this time, so a missing hold is looked up again. */
const MAX_STATEMENT_MS = 15_000;
const GIVE_UP_MS = 300_000;
const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;

export function createAbandonedHolds(release: (hold: UnknownHold) => Promise<{ outcome: string }>): AbandonedHolds {
  const holds = new Map<string, AbandonedHold>();
  const closing = new AbortController();
  let isRunning = false;

  async function run(): Promise<void> {
    isRunning = true;
    for (let pauseMs = MIN_PAUSE_MS; holds.size > 0; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      await sleep(pauseMs, undefined, { signal: closing.signal, ref: false });
      await Promise.all([...holds.values()].map(tryRelease));
    }
    isRunning = false;
  }

  async function tryRelease(hold: AbandonedHold): Promise<void> {
    const ageMs = performance.now() - hold.since;
    const outcome = await release(hold).then(
      (ended) => ended.outcome,
      () => 'unknown',
    );
    const isOpen = outcome === 'unknown' || (outcome === 'no_hold' && ageMs < MAX_STATEMENT_MS);
    if (isOpen && ageMs < GIVE_UP_MS) return;
    holds.delete(hold.operationId);
    abandonedHolds.inc({ outcome });
  }

  return {
    add(hold) {
      if (holds.size >= MAX_HOLDS) return abandonedHolds.inc({ outcome: 'unknown' });
      holds.set(hold.operationId, { ...hold, since: performance.now() });
      // Fails only when it is closed.
      if (!isRunning) run().catch(() => undefined);
    },
    close: () => closing.abort(),
  };
}
