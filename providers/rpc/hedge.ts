/** Hedging: a second node for a slow call. Few calls get one, so that a slow fleet does not get twice the load. */

import type { NodeAttempt, RunningAttempt } from './rpcNode.ts';
import type { RpcOutcome } from './rpcUpstreams.ts';

const SHARE = 0.05;
const MAX_SAVED = 10;

/** Allows hedges for one call in twenty, and a short burst. */
export class HedgeBudget {
  private saved: number;

  constructor(saved: number) {
    this.saved = saved;
  }

  static full(): HedgeBudget {
    return new HedgeBudget(MAX_SAVED);
  }

  called(): void {
    this.saved = Math.min(MAX_SAVED, this.saved + SHARE);
  }

  take(): boolean {
    if (this.saved < 1) return false;
    this.saved -= 1;
    return true;
  }
}

/** Whether another node may succeed. False for an answer that is too large: that of any node would be. */
export function isRetryableElsewhere(outcome: RpcOutcome): boolean {
  switch (outcome.kind) {
    case 'failed':
      return outcome.reason !== 'too_large';
    case 'mismatched':
    case 'rejected':
      return true;
    default:
      return false;
  }
}

/** Resolves with the first good reply, else the last bad one. `second` returns undefined for no hedge. */
export function raceNodes(
  first: RunningAttempt,
  afterMs: number,
  second: () => RunningAttempt | undefined,
): Promise<NodeAttempt> {
  return new Promise((resolve, reject) => {
    const running = new Set([first]);
    let over = false;
    const follow = (each: RunningAttempt) => {
      each.done.then((answer) => {
        running.delete(each);
        if (over) return drop(answer);
        if (running.size > 0 && answer.outcomes.some(isRetryableElsewhere)) return;
        over = true;
        clearTimeout(timer);
        for (const loser of running) loser.stop();
        resolve(answer);
      }, reject);
    };
    const timer = setTimeout(() => {
      const hedge = second();
      if (hedge === undefined) return;
      running.add(hedge);
      follow(hedge);
    }, afterMs);
    follow(first);
  });
}

/** Closes the stream of the slower node, which would continue to send. */
function drop({ stream }: NodeAttempt): void {
  stream?.value[Symbol.asyncIterator]()
    .return?.()
    .catch(() => undefined);
}
