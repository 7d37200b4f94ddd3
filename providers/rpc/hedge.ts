/** A second node for a call whose first is slower than it usually is: few calls, so that a slow fleet is not asked twice. */
import type { RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import { mayBeAskedElsewhere } from './outcomes.ts';
import type { Asking, Attempt, RpcNode, Running } from './rpcNode.ts';

const SHARE = 0.05;
const MOST_SAVED = 10;

/** One call in twenty, and a few at once. */
export class HedgeBudget {
  private saved = 1;

  called(): void {
    this.saved = Math.min(MOST_SAVED, this.saved + SHARE);
  }

  take(): boolean {
    if (this.saved < 1) return false;
    this.saved -= 1;
    return true;
  }
}

export interface HedgedCall {
  calls: RpcCalls;
  asking: Asking;
  budget: HedgeBudget;
  /** Undefined: nobody else is there. */
  other: () => RpcNode | undefined;
}

/** The first good answer of the two; else the last bad one. */
export function askHedged(node: RpcNode, call: HedgedCall): Promise<Attempt> {
  const { calls, asking, budget } = call;
  budget.called();
  const first = node.ask(calls, asking);
  const afterMs = node.latencies.hedgeAfterMs(calls.length);
  if (afterMs === undefined || afterMs >= asking.timeoutMs) return first.done;
  return new Promise((resolve, reject) => {
    const running = new Set([first]);
    const follow = (each: Running) => {
      each.done.then((attempt) => {
        running.delete(each);
        if (running.size > 0 && attempt.outcomes.some(mayBeAskedElsewhere)) return;
        clearTimeout(timer);
        for (const loser of running) loser.stop();
        resolve(attempt);
      }, reject);
    };
    const timer = setTimeout(() => {
      const second = budget.take() ? call.other() : undefined;
      if (second === undefined) return;
      const hedge = second.ask(calls, { ...asking, timeoutMs: asking.timeoutMs - afterMs });
      running.add(hedge);
      follow(hedge);
    }, afterMs);
    follow(first);
  });
}
