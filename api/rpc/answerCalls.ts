/** Answer to a request from the outcomes of its items, its price, and the memory that it takes (RPC-6, RPC-7). */
import { FareboxError } from '../../domain/errors.ts';
import { jsonBytes } from '../../domain/json/jsonBytes.ts';
import { JsonWriter } from '../../domain/json/jsonWriter.ts';
import type { LedgerPrice } from '../../domain/ledger.ts';
import { type AnswerKind, costOfCredits, creditsFor } from '../../domain/rpc/bill.ts';
import { hasWrites, type RpcRequest } from '../../domain/rpc/request.ts';
import type { RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import type { RpcOutcome, RpcStream } from '../../providers/rpc/rpcUpstreams.ts';
import { type AnswerBudget, BUDGET_EXCEEDED } from './answerBudget.ts';

interface RpcBill {
  credits: number;
  /** Value of `X-Service-RPC-Cache`; undefined: nothing was cached. */
  cached: string | undefined;
}

export interface FailedCalls {
  kind: 'failed';
  error: FareboxError;
  /** A node may have received the request. */
  maybeSent: boolean;
}

export type AnsweredCalls =
  /** `leave`: frees the memory of a large answer, when the client has it or is gone. */
  | { kind: 'whole'; body: Buffer; bill: RpcBill; leave: (() => void) | undefined }
  | { kind: 'stream'; value: RpcStream['value']; bill: RpcBill }
  | FailedCalls;

/** As it is sent. */
export function answerCalls(
  { budget, accountId }: { budget: AnswerBudget; accountId: string },
  asked: RpcRequest,
  answered: readonly RpcOutcome[] | RpcStream,
): AnsweredCalls {
  if ('kind' in answered) {
    return { kind: 'stream', value: answered.value, bill: { credits: asked.credits, cached: undefined } };
  }
  const failed = allFailed(answered);
  if (failed) return failed;
  const sizeBytes = sizeOfBody(asked, answered);
  const leave = budget.take(accountId, sizeBytes);
  // An answer about a change of the chain is sent whatever memory it takes.
  if (leave === BUDGET_EXCEEDED && !hasWrites(asked)) return BUDGET_EXCEEDED_FAILURE;
  return {
    kind: 'whole',
    body: bodyOf(asked, answered, sizeBytes),
    bill: billOf(asked.calls, answered),
    leave: leave === BUDGET_EXCEEDED ? undefined : leave,
  };
}

function billOf(calls: RpcCalls, outcomes: readonly RpcOutcome[]): RpcBill {
  let credits = 0;
  const hits: number[] = [];
  outcomes.forEach((outcome, index) => {
    credits += creditsFor(BILLED_AS[outcome.kind], calls.method(index).credits);
    if (outcome.kind === 'result' && outcome.cached) hits.push(index);
  });
  return { credits, cached: cachedWords(hits, outcomes.length) };
}

const BILLED_AS: Record<RpcOutcome['kind'], AnswerKind> = {
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

/** Approximate size of the result of `bodyOf`. */
function sizeOfBody({ calls }: RpcRequest, outcomes: readonly RpcOutcome[]): number {
  let bytes = calls.length * ABOUT_BYTES;
  for (const outcome of outcomes) {
    if (outcome.kind === 'result') bytes += outcome.end - outcome.start;
    else if (outcome.kind === 'error') bytes += outcome.value.length;
  }
  return bytes;
}

/** JSON: each item with the client's id, in its order. */
function bodyOf({ calls, isBatch }: RpcRequest, outcomes: readonly RpcOutcome[], sizeBytes: number): Buffer {
  const body = new JsonWriter(sizeBytes);
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

/** Size of an item without its result. */
const ABOUT_BYTES = 48;
const FIRST = jsonBytes('{"jsonrpc":"2.0","id":');
const NEXT = jsonBytes('},{"jsonrpc":"2.0","id":');
const RESULT = jsonBytes(',"result":');
const ERROR = jsonBytes(',"error":');
const BATCH = jsonBytes('[');
const BATCH_END = jsonBytes('}]');
const END = jsonBytes('}');

/** Text before and after a result that comes in pieces. */
export function textAroundResult({ calls }: RpcRequest): [before: string, after: string] {
  return [`${FIRST.bytes}${calls.id(0)}${RESULT.bytes}`, '}'];
}

/** JSON-RPC 2.0: internal error, and codes reserved for servers. */
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

/**
 * Undefined when a node has answered at least one item: then failures are items of the answer. Otherwise the request
 * gets 500, or 503 where no node has room (RPC-10).
 */
function allFailed(outcomes: readonly RpcOutcome[]): FailedCalls | undefined {
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
  return { kind: 'failed', error, maybeSent: failures.some(({ sent }) => sent) };
}

/** Answer after the time limit of the nodes. */
export function nodeTimeoutFailure(): FailedCalls {
  const error = new FareboxError({ code: 'provider_failed', message: FAILURE_WORDS.timeout });
  return { kind: 'failed', error, maybeSent: true };
}

/** Headers of relayed answers and of their replays (RPC-7). */
export function relayHeaders({ credits, cached }: RpcBill, credit: LedgerPrice): Record<string, string> {
  return {
    'X-Service-RPC-Credits': String(credits),
    'X-Service-RPC-Cost-USD': costOfCredits(credits, credit),
    ...(cached !== undefined && { 'X-Service-RPC-Cache': cached }),
  };
}

const BUDGET_EXCEEDED_FAILURE: FailedCalls = {
  kind: 'failed',
  error: new FareboxError({
    ...{ code: 'provider_busy', retryAfterSeconds: 1 },
    message: 'Too many large answers wait to be read. Nothing was charged for this one.',
  }),
  maybeSent: false,
};
