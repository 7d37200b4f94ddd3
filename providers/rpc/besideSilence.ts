/** A heavy read: nobody knows how long it may take, so only beside a node that says nothing at all another one is asked. */
import { type HedgeBudget, type Racer, race } from './hedge.ts';
import { mayBeAskedElsewhere } from './outcomes.ts';
import type { RpcNode } from './rpcNode.ts';
import type { RpcOutcome, RpcStream } from './rpcUpstreams.ts';

/** A node at work says the head of its answer sooner, but for the heaviest of reads. */
const SILENT_MS = 10_000;

/** How a node is asked. */
interface Hearing {
  /** The client's, or what another node answered has made this one needless. */
  signal: AbortSignal;
  timeoutMs: number;
  /** The head of an answer has come. */
  onHead: () => void;
}

export interface HeavyCall<T> {
  signal: AbortSignal;
  /** Until an answer. */
  leftMs: number;
  budget: HedgeBudget;
  /** Undefined: nobody else is there. */
  other: () => RpcNode | undefined;
  ask: (node: RpcNode, hearing: Hearing) => Promise<T>;
  isBad: (answer: T) => boolean;
  /** What to do with an answer that came when another one was taken already. */
  drop?: (answer: T) => void;
}

/** The first good answer of the two; else the last bad one. */
export function askBesideSilence<T>(node: RpcNode, call: HeavyCall<T>): Promise<T> {
  const { budget, isBad, drop, leftMs } = call;
  // Where there is little time, in time for the other.
  const afterMs = Math.min(SILENT_MS, leftMs / 3);
  let silent = true;
  const onHead = () => {
    silent = false;
  };
  budget.called();
  return race(racerOf(node, call, { timeoutMs: leftMs, onHead }), {
    ...{ afterMs, isBad, drop },
    second() {
      const other = silent && budget.take() ? call.other() : undefined;
      return other && racerOf(other, call, { timeoutMs: leftMs - afterMs, onHead });
    },
  });
}

function racerOf<T>(
  node: RpcNode,
  { ask, signal }: HeavyCall<T>,
  hearing: Omit<Hearing, 'signal'>,
): Racer<T> {
  const control = new AbortController();
  const done = ask(node, { ...hearing, signal: AbortSignal.any([signal, control.signal]) });
  return { done, stop: () => control.abort(NEEDLESS) };
}

const NEEDLESS = new Error('another node has answered');

/** Of answers that may be streams. */
export const STREAMS = {
  isBad: (answer: RpcOutcome | RpcStream) => answer.kind !== 'stream' && mayBeAskedElsewhere(answer),
  /** Its node goes on sending otherwise. */
  drop: (answer: RpcOutcome | RpcStream) => {
    if (answer.kind === 'stream')
      answer.value[Symbol.asyncIterator]()
        .return?.()
        .catch(() => undefined);
  },
};
