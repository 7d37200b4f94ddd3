/** A second node for a call whose first is slower than it usually is: few calls, so that a slow fleet is not asked twice. */
import type { RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import { mayBeAskedElsewhere } from './outcomes.ts';
import type { Asking, Attempt, RpcNode } from './rpcNode.ts';

const SHARE = 0.05;
export const MOST_SAVED = 10;

/** One call in twenty, and a few at once. */
export class HedgeBudget {
  private saved: number;

  constructor(saved = 1) {
    this.saved = saved;
  }

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
  return race(first, {
    afterMs,
    isBad: isOpen,
    second: () => {
      const second = budget.take() ? call.other() : undefined;
      return second?.ask(calls, { ...asking, timeoutMs: asking.timeoutMs - afterMs });
    },
  });
}

/** Whether another node may do better. */
export function isOpen({ outcomes }: Attempt): boolean {
  return outcomes.some(mayBeAskedElsewhere);
}

/** One node at work. */
export interface Racer<T> {
  done: Promise<T>;
  /** Its answer is of no more interest. */
  stop(): void;
}

export interface Race<T> {
  afterMs: number;
  /** Undefined: the first one stays alone. */
  second: () => Racer<T> | undefined;
  isBad: (answer: T) => boolean;
  /** Given what comes after the end, all the same. */
  drop?: ((answer: T) => void) | undefined;
}

/** The first good answer of the two; else the last bad one. */
export function race<T>(first: Racer<T>, { afterMs, second, isBad, drop }: Race<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const running = new Set([first]);
    let over = false;
    const follow = (each: Racer<T>) => {
      each.done.then((answer) => {
        running.delete(each);
        if (over) return drop?.(answer);
        if (running.size > 0 && isBad(answer)) return;
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
