/** Sends the calls without a known result to the nodes of a network, within their time limit. */
import { FareboxError } from '../../domain/errors.ts';
import type { RpcNetwork } from '../../domain/rpc/networks.ts';
import type { RpcRequest } from '../../domain/rpc/request.ts';
import {
  rpcKept,
  rpcNodeBehind,
  rpcNodeCircuit,
  rpcNodeOutcomes,
  rpcNodeSeconds,
  rpcSecondNodes,
} from '../../infra/telemetry/counters.ts';
import { keepLabelled } from '../../infra/telemetry/labelled.ts';
import {
  type RpcEvent,
  type RpcOutcome,
  type RpcStream,
  type RpcUpstreams,
  resultOf,
} from '../../providers/rpc/rpcUpstreams.ts';
import type { RouteRequest } from '../http/route.ts';

export interface NodeOrder {
  network: RpcNetwork;
  asked: RpcRequest;
  /** Known results by item, as JSON text: these calls are not sent. */
  known: ReadonlyMap<number, string>;
}

/** One outcome for each call, or the stream of the only one. */
export async function askNodes(
  rpc: RpcUpstreams,
  { network, asked, known }: NodeOrder,
  signal: AbortSignal,
): Promise<RpcOutcome[] | RpcStream> {
  const { calls, isBatch } = asked;
  const indices = known.size === 0 ? undefined : openOf(calls.length, known);
  const open = indices ? calls.only(indices) : calls;
  if (!isBatch && open.length > 0) {
    const answered = await rpc.single(network.slug, open, signal);
    return answered.kind === 'stream' ? answered : [answered];
  }
  const answered = open.length === 0 ? [] : await rpc.batch(network.slug, open, signal);
  if (answered.length !== open.length) {
    throw new FareboxError({
      ...{ code: 'internal', message: 'Internal server error' },
      internal: `${answered.length} outcomes for ${open.length} items`,
    });
  }
  if (!indices) return answered;
  const outcomes: RpcOutcome[] = [];
  for (const [index, value] of known) outcomes[index] = resultOf(value, false);
  for (const [at, index] of indices.entries()) outcomes[index] = answered[at] as RpcOutcome;
  return outcomes;
}

/** Items without a known result. */
function openOf(length: number, known: NodeOrder['known']): number[] {
  return Array.from({ length }, (_, index) => index).filter((index) => !known.has(index));
}

/** A little more than the time limit of the nodes, so that their own errors count (RPC-10). */
export const UPSTREAM_MS = 32_000;
/** Time limit of a large answer that has begun. */
const STREAM_MS = 120_000;
const LATE = new Error('the nodes took too long');

/** Time limit of the nodes. A class: closures for each call make batches slower by a twentieth (bench `pairs`). */
export class NodeTimeLimit {
  isOver = false;
  isExtended = false;
  readonly #control = new AbortController();
  readonly #stay: (() => void) | undefined;
  #timer = setTimeout(expire, UPSTREAM_MS, this);

  /** `goesOn`: the calls also go on when the client leaves. */
  constructor(request: Pick<RouteRequest<unknown, unknown, 'buyer'>, 'whenGone'>, goesOn: boolean) {
    this.#stay = goesOn ? undefined : request.whenGone(() => this.#control.abort(leftError()));
  }

  get signal(): AbortSignal {
    return this.#control.signal;
  }

  /** Extends the limit for a stream, which ends it. */
  extend(): void {
    this.isExtended = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(expire, STREAM_MS, this);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#stay?.();
  }

  expire(): void {
    this.isOver = true;
    this.#control.abort(LATE);
  }
}

function expire(time: NodeTimeLimit): void {
  time.expire();
}

function leftError(): FareboxError {
  return new FareboxError({ code: 'cancelled', message: 'The client went away.' });
}

/** Counts the events of nodes as metrics. */
export function watchNodes(): (event: RpcEvent) => void {
  const outcomes = keepLabelled(rpcNodeOutcomes);
  const seconds = keepLabelled(rpcNodeSeconds);
  return (event) => {
    const { network } = event;
    switch (event.kind) {
      case 'request':
        outcomes(network, event.upstream, event.outcome).inc();
        seconds(network, event.upstream).observe(event.durationMs / 1_000);
        break;
      case 'node': {
        const node = event.upstream;
        rpcNodeCircuit.set({ network, node }, event.circuit);
        if (event.behind !== undefined) rpcNodeBehind.set({ network, node }, event.behind);
        break;
      }
      case 'cache':
        rpcKept.inc({ network, outcome: event.outcome }, event.count);
        break;
      default:
        rpcSecondNodes.inc({ network, reason: event.kind });
    }
  };
}
