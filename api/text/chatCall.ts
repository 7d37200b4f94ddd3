/** One chat request on its way: the models are tried in order, each behind a hold of its own. */
import { type ErrorCode, FareboxError } from '../../domain/errors.ts';
import type { LedgerPrice } from '../../domain/ledger.ts';
import { billOf, NOTHING, snapshotOf } from '../../domain/text/bill.ts';
import type { ChatMessage } from '../../domain/text/chat.ts';
import { UpstreamFailure } from '../../domain/text/upstreamFailure.ts';
import type { TextProvider } from '../../providers/textProvider.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Hold, openHold } from '../paid.ts';
import type { RouteRequest } from '../route.ts';
import { mayFallBack, toClientError } from '../upstreamErrors.ts';
import { addOnsOf, type ChatAttempt, type PricedRequest, priceAttempt } from './chatAttempts.ts';
import type { ChatBody } from './chatBody.ts';
import type { Counted } from './tally.ts';
import type { Errand } from './web/errand.ts';
import type { Findings } from './web/findings.ts';

export interface ChatOrder {
  request: RouteRequest<ChatBody, unknown, 'key'>;
  attempts: readonly ChatAttempt[];
  messages: ChatMessage[];
  /** What is looked up before a model answers. */
  errand?: Errand | undefined;
  /** The request is encrypted for the first model, and for no other. */
  e2eeHeaders?: Record<string, string>;
}

/** A model that is being asked, and what is held for it. */
export interface ChatCall extends PricedRequest {
  attempt: ChatAttempt;
  provider: TextProvider;
  hold: Hold;
  /** Ends the upstream call. */
  signal: AbortSignal;
  /** To be called when the upstream has nothing more to say. */
  end(): void;
  startedAt: number;
  /** What was looked up for it; the request has it already. */
  findings: Findings | undefined;
}

/** From the first word to the last; then the upstream is cut and what it sent is billed. */
const LONGEST_CALL_MS = 600_000;
/** How long an upstream may finish what a client does not wait for any more. */
export const DRAIN_MS = 5_000;
/** Beyond the call: the resolution is written, if need be, for so long. */
const RESOLVE_MS = 60_000;

/**
 * Each attempt is held against the limits and the price of its own model. Throws what the client is told when no model
 * answered; then nothing is held any more.
 */
export async function firstThatAnswers<T>(
  dependencies: Pick<Dependencies, 'ledger' | 'textProviders'>,
  order: ChatOrder,
  ask: (call: ChatCall) => Promise<T>,
): Promise<T> {
  let failure: unknown;
  for (const [index, attempt] of order.attempts.entries()) {
    const call = await openCall(dependencies, order, { attempt, index }).catch((error: unknown) => {
      // What was only the second choice is passed over: the client is told why the first did not answer.
      if (failure === undefined || !isNoRoom(error)) throw error;
    });
    if (!call) continue;
    try {
      return await ask(await informed(call, order));
    } catch (error) {
      call.end();
      await call.hold.release();
      order.request.log.warn({ err: error, model: attempt.model.id }, 'a model did not answer');
      failure = error;
      if (!mayFallBack(error) || order.request.signal.aborted) break;
    }
  }
  throw toClientError(failure);
}

/** This model is too dear or too much in demand for the caller; another one may be neither. */
const NO_ROOM = new Set<ErrorCode>(['rate_limited', 'insufficient_balance', 'key_limit_exceeded']);

function isNoRoom(error: unknown): boolean {
  return error instanceof FareboxError && NO_ROOM.has(error.code);
}

/** What a model is asked, and the most that it can cost. */
export function priceOf({ request, messages, errand, e2eeHeaders }: ChatOrder, attempt: ChatAttempt) {
  const { body, caller } = request;
  const asked = { body, accountId: caller.accountId, messages, ...(e2eeHeaders && { e2eeHeaders }) };
  return priceAttempt(attempt, { ...asked, errand });
}

async function openCall(
  { ledger, textProviders }: Pick<Dependencies, 'ledger' | 'textProviders'>,
  order: ChatOrder,
  { attempt, index }: { attempt: ChatAttempt; index: number },
): Promise<ChatCall> {
  const { request } = order;
  const { caller, log } = request;
  await request.admitModel(attempt.model.id);
  const priced = priceOf(order, attempt);
  const provider = textProviders.get(attempt.model.provider);
  if (!provider)
    throw toClientError(new UpstreamFailure({ reason: 'no_model', detail: 'its provider is not open' }));
  // The second model that is tried is an operation of its own: a hold that was released stays so.
  const requestId = index === 0 ? request.requestId : `${request.requestId}:${index + 1}`;
  const hold = await openHold(
    { ledger },
    {
      ...{ requestId, caller, log },
      bound: priced.bound,
      snapshot: snapshotOf(attempt.model, chatId(request.requestId)),
      ttlMs: LONGEST_CALL_MS + DRAIN_MS + RESOLVE_MS,
    },
  );
  const { signal, end } = outliving(request.signal);
  const startedAt = performance.now();
  return { ...priced, attempt, provider, hold, signal, end, startedAt, findings: undefined };
}

/** The call with what was found in its request: looked up behind the hold, once for all models that are tried. */
async function informed(call: ChatCall, { errand }: ChatOrder): Promise<ChatCall> {
  if (!errand) return call;
  const findings = await errand.findings();
  const messages = withBlock(call.request.messages, findings.block);
  return { ...call, request: { ...call.request, messages }, findings, startedAt: performance.now() };
}

/** Behind what leads the conversation: there a prompt that is the same each time ends anyway. */
function withBlock(messages: readonly ChatMessage[], block: string): ChatMessage[] {
  const first = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const at = first < 0 ? messages.length : first;
  return messages.toSpliced(at, 0, { role: 'system', content: block });
}

/** Also the name under which the ledger knows the request (api-facts 2.2). */
export function chatId(requestId: string): string {
  return `chatcmpl-${requestId}`;
}

/** Goes on for a while after nobody waits any more: what an upstream has begun is paid for, here and there. */
function outliving(waiting: AbortSignal): { signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const abort = () => controller.abort();
  let timer = setTimeout(abort, LONGEST_CALL_MS);
  const hurry = () => {
    clearTimeout(timer);
    timer = setTimeout(abort, DRAIN_MS);
  };
  if (waiting.aborted) hurry();
  else waiting.addEventListener('abort', hurry, { once: true });
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer);
      waiting.removeEventListener('abort', hurry);
    },
  };
}

export interface Settled extends Counted {
  /** What it cost, as the client is told. */
  cost: LedgerPrice;
}

/** Writes the bill; resolves when it stands. */
export async function settleCall(
  { attempt, hold, startedAt, end, request, findings }: ChatCall,
  produced: Counted,
): Promise<Settled> {
  end();
  const executionMs = Math.round(performance.now() - startedAt);
  const { price, details } = billOf(attempt.model, {
    ...{ ...produced, executionMs, addOns: addOnsOf(request, findings?.addOns) },
    ...(findings && { remarks: findings.remarks }),
  });
  if (price.usd === 0n && price.diem === 0n) {
    await hold.release();
    return { ...produced, cost: NOTHING };
  }
  await hold.settle(price, details);
  return { ...produced, cost: price };
}
