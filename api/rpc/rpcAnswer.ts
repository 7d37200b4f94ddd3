/** Answer to a request from the outcomes of its items, and its price (RPC-6, RPC-7). */
import { FareboxError } from '../../domain/errors.ts';
import type { LedgerPrice } from '../../domain/ledger.ts';
import { type BilledAs, costOfCredits, creditsFor } from '../../domain/rpc/bill.ts';
import { jsonBytes } from '../../domain/rpc/jsonBytes.ts';
import { JsonWriter } from '../../domain/rpc/jsonWriter.ts';
import type { RpcRequest } from '../../domain/rpc/request.ts';
import type { RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import type { RpcOutcome } from '../../providers/rpc/rpcUpstreams.ts';

export interface RpcBill {
  credits: number;
  /** Of `X-Service-RPC-Cache`; undefined: nothing was from memory. */
  cached: string | undefined;
}

export function billOf(calls: RpcCalls, outcomes: readonly RpcOutcome[]): RpcBill {
  let credits = 0;
  const hits: number[] = [];
  outcomes.forEach((outcome, index) => {
    credits += creditsFor(BILLED_AS[outcome.kind], calls.method(index).credits);
    if (outcome.kind === 'result' && outcome.cached) hits.push(index);
  });
  return { credits, cached: cachedWords(hits, outcomes.length) };
}

const BILLED_AS: Record<RpcOutcome['kind'], BilledAs> = {
  result: 'result',
  error: 'error',
  mismatched: 'error',
  rejected: 'error',
  failed: 'none',
};

/** `hit` for all of it; `hit; items=0,4` for those of a batch. */
function cachedWords(hits: readonly number[], items: number): string | undefined {
  if (hits.length === 0) return undefined;
  return hits.length === items ? 'hit' : `hit; items=${hits.join(',')}`;
}

/** About what `bodyOf` comes to, before it is written. */
export function sizeOfBody({ calls }: RpcRequest, outcomes: readonly RpcOutcome[]): number {
  let bytes = calls.length * ABOUT_BYTES;
  for (const outcome of outcomes) {
    if (outcome.kind === 'result') bytes += outcome.end - outcome.start;
    else if (outcome.kind === 'error') bytes += outcome.value.length;
  }
  return bytes;
}

/** JSON: each item under the id that the client gave it, in its order. */
export function bodyOf(request: RpcRequest, outcomes: readonly RpcOutcome[]): Buffer {
  const { calls, isBatch } = request;
  const body = new JsonWriter(sizeOfBody(request, outcomes));
  if (isBatch) body.put(BATCH);
  for (let index = 0; index < calls.length; index += 1) {
    const outcome = outcomes[index];
    body.put(index === 0 ? FIRST : NEXT);
    calls.writeId(index, body);
    if (outcome?.kind === 'result') {
      body.put(RESULT);
      body.put(outcome.json, outcome.start, outcome.end);
    } else {
      body.put(ERROR);
      body.text(outcome?.kind === 'error' ? outcome.value : JSON.stringify(ownError(outcome)));
    }
  }
  body.put(isBatch ? BATCH_END : END);
  return body.written();
}

/** Of an item without its result. */
const ABOUT_BYTES = 48;
const FIRST = jsonBytes('{"jsonrpc":"2.0","id":');
const NEXT = jsonBytes('},{"jsonrpc":"2.0","id":');
const RESULT = jsonBytes(',"result":');
const ERROR = jsonBytes(',"error":');
const BATCH = jsonBytes('[');
const BATCH_END = jsonBytes('}]');
const END = jsonBytes('}');

/** The same around a result that comes in pieces. */
export function partsAround({ calls }: RpcRequest): [before: string, after: string] {
  return [`${FIRST.bytes}${calls.id(0)}${RESULT.bytes}`, '}'];
}

/** JSON-RPC 2.0: internal error; and of the codes that are left to servers. */
const INTERNAL = -32_603;
const SERVER = -32_000;

function ownError(outcome: RpcOutcome | undefined): { code: number; message: string } {
  switch (outcome?.kind) {
    case 'rejected':
      return { code: SERVER, message: `The node refused the call (HTTP ${outcome.status}).` };
    case 'mismatched':
      return { code: SERVER, message: 'The node answered, but not this call.' };
    case 'failed':
      return { code: INTERNAL, message: FAILURE_WORDS[outcome.reason] };
    default:
      return { code: INTERNAL, message: FAILURE_WORDS.broken };
  }
}

type Reason = Extract<RpcOutcome, { kind: 'failed' }>['reason'];

const FAILURE_WORDS: Record<Reason, string> = {
  capacity: 'No node has room for this call at the moment. Nothing was charged for it.',
  broken: 'No node gave a usable answer. Nothing was charged for it.',
  timeout: 'No node answered in time. Nothing was charged for it.',
  too_large: 'The answer is too large. Nothing was charged for it.',
};

export interface AllFailed {
  error: FareboxError;
  /** Something may have arrived all the same. */
  maybeSent: boolean;
}

/**
 * Undefined when a node has answered at least one item: then failures are items of the answer. Otherwise the request
 * gets 500, or 503 where no node has room (RPC-10).
 */
export function allFailed(outcomes: readonly RpcOutcome[]): AllFailed | undefined {
  if (outcomes.some(({ kind }) => kind !== 'failed')) return undefined;
  const failures = outcomes.flatMap((outcome) => (outcome.kind === 'failed' ? [outcome] : []));
  const reasons = new Set(failures.map(({ reason }) => reason));
  const order = ['timeout', 'broken', 'too_large', 'capacity'] as const;
  const reason = order.find((one) => reasons.has(one)) ?? 'broken';
  const message = FAILURE_WORDS[reason];
  const error =
    reason === 'capacity'
      ? new FareboxError({ code: 'provider_busy', message, retryAfterSeconds: 1 })
      : new FareboxError({ code: 'provider_failed', message });
  return { error, maybeSent: failures.some(({ sent }) => sent) };
}

/** Headers of relayed answers and of their replays (RPC-7). */
export function relayHeaders({ credits, cached }: RpcBill, credit: LedgerPrice): Record<string, string> {
  return {
    'X-Service-RPC-Credits': String(credits),
    'X-Service-RPC-Cost-USD': costOfCredits(credits, credit),
    ...(cached !== undefined && { 'X-Service-RPC-Cache': cached }),
  };
}
