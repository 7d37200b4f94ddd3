/** One paid call of a model that answers in text: the models are tried in order, each behind a hold of its own. */
import type { DecisionModel, TextModel } from '../../domain/catalogue/model.ts';
import { type ErrorCode, FareboxError } from '../../domain/errors.ts';
import type { LedgerPrice } from '../../domain/ledger.ts';
import { billOf, NOTHING, snapshotOf, type TextOutput } from '../../domain/text/bill.ts';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import type { TextProvider } from '../../providers/shared/textProvider.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RouteRequest } from '../http/route.ts';
import { deadlineError, mayFallBack, restarting, toClientError } from '../http/upstreamErrors.ts';
import type { NamedModel } from '../models.ts';
import type { LedgerHold } from '../paid/ledgerHold.ts';
import { purchase } from '../paid/purchase.ts';
import type { AnswerSpeeds } from './answerSpeeds.ts';
import type { CountedUsage } from './tally.ts';

/** Models that answer through `complete` and `stream`. */
export type Answering = TextModel | DecisionModel;

interface Bounded {
  /** The most that it can cost. */
  bound: LedgerPrice;
}

/** `Priced`: what a model is asked, with the most that it can cost. */
export interface CallOrder<Model extends Answering, Priced extends Bounded, Body> {
  request: RouteRequest<Body, unknown, 'buyer'>;
  attempts: readonly NamedModel<Model>[];
  price(attempt: NamedModel<Model>): Priced;
  /** What is to be done behind the hold, before the model is asked: it gets this instead. */
  inform?(call: ModelCall<Model, Priced>): Promise<Priced>;
  /** How long the upstream may go on when the client has left. */
  drainMs(model: Model): number;
  /** When the process stops, it ends early with what it has: its client can be told. */
  isStream?: boolean;
}

/** A model that is being asked, and what is held for it. */
export type ModelCall<Model extends Answering, Priced> = Priced & RunningCall<Model>;

interface RunningCall<Model extends Answering> {
  attempt: NamedModel<Model>;
  provider: TextProvider;
  hold: LedgerHold;
  answerSpeeds: AnswerSpeeds;
  /** Ends the upstream call. */
  signal: AbortSignal;
  /** When its client left, by `performance.now()`; undefined while it is there, or when it was told of a failure or cut off. */
  leftAt(): number | undefined;
  /** To be called when the upstream has nothing more to say. */
  end(): void;
  startedAt: number;
}

/** From the first word to the last; then the upstream is cut and what it sent is billed. */
const MAX_CALL_MS = 600_000;
/** How long an upstream may finish one of many small answers, or one that is not billed any more. */
export const DRAIN_MS = 5_000;
/**
 * Drain time of what is billed by the service's own count at its end: a whole answer, or a stream that is not to be closed.
 * Longer than an upstream may take for its first byte by default.
 */
export const WHOLE_DRAIN_MS = 125_000;
/** Beyond the call: the resolution is written, if need be, for so long. */
const RESOLVE_MS = 60_000;

type ModelCallDependencies = Pick<Dependencies, 'core' | 'accounts' | 'providers'>;

/**
 * Each attempt is held against the limits and the price of its own model. Throws what the client is told when no model
 * answered; then nothing is held any more.
 */
export async function askModelsInOrder<Model extends Answering, Priced extends Bounded, T>(
  desk: ModelCallDependencies,
  order: CallOrder<Model, Priced, unknown>,
  ask: (call: ModelCall<Model, Priced>) => Promise<T>,
): Promise<T> {
  const { request } = order;
  let failure: unknown;
  for (const [index, attempt] of order.attempts.entries()) {
    let isHeld = false;
    const work = async (call: ModelCall<Model, Priced>) => {
      isHeld = true;
      return await ask(await informed(call, order));
    };
    try {
      return await purchaseCall(desk, order, { attempt, index, work });
    } catch (error) {
      if (isHeld) {
        request.log.warn({ err: error, model: attempt.model.id }, 'a model did not answer');
        failure = error;
        if (!mayFallBack(error) || request.signal.aborted || request.ending.aborted) break;
      } else if (failure === undefined || !isNoRoom(error)) {
        // What was only the second choice is passed over: the client is told why the first did not answer.
        throw error;
      }
    }
  }
  throw toClientError(failure);
}

/** This model is too dear or too much in demand for the caller; another one may be neither. */
const NO_ROOM = new Set<ErrorCode>(['rate_limited', 'insufficient_balance', 'key_limit_exceeded']);

function isNoRoom(error: unknown): boolean {
  return error instanceof FareboxError && NO_ROOM.has(error.code);
}

interface CallWork<Model extends Answering, Priced extends Bounded, T> {
  attempt: NamedModel<Model>;
  index: number;
  work(call: ModelCall<Model, Priced>): Promise<T>;
}

async function purchaseCall<Model extends Answering, Priced extends Bounded, T>(
  desk: ModelCallDependencies,
  { request, price, drainMs, isStream }: CallOrder<Model, Priced, unknown>,
  { attempt, index, work }: CallWork<Model, Priced, T>,
): Promise<T> {
  await request.admitModel(attempt.model.id);
  const priced = price(attempt);
  const provider = desk.providers.textProviders.get(attempt.model.provider);
  if (!provider)
    throw toClientError(new UpstreamFailure({ reason: 'no_model', detail: 'its provider is not open' }));
  const restMs = drainMs(attempt.model);
  const { answerSpeeds } = desk.providers;
  return await purchase(desk, request, {
    // The second model that is tried is an operation of its own: a hold that was released stays so.
    operationId: index === 0 ? request.requestId : `${request.requestId}:${index + 1}`,
    bound: priced.bound,
    snapshot: snapshotOf(attempt.model, chatId(request.requestId)),
    ttlMs: MAX_CALL_MS + restMs + RESOLVE_MS,
    async work(hold) {
      const line = openLine(request, { drainMs: restMs, isStream });
      const startedAt = performance.now();
      try {
        return await work({ attempt, provider, hold, answerSpeeds, startedAt, ...line, ...priced });
      } catch (error) {
        line.end();
        throw error;
      }
    },
  });
}

async function informed<Model extends Answering, Priced extends Bounded>(
  call: ModelCall<Model, Priced>,
  { inform }: CallOrder<Model, Priced, unknown>,
): Promise<ModelCall<Model, Priced>> {
  if (!inform) return call;
  return { ...call, ...(await inform(call)), startedAt: performance.now() };
}

/** Also the name under which the ledger knows the request (TEXT-16). */
export function chatId(requestId: string): string {
  return `chatcmpl-${requestId}`;
}

/**
 * The upstream call outlives its client by `drainMs`: what it has begun is paid for, here and there. A stream ends before
 * the process does, and so does a call whose client has left, so that it can be billed. Clients that are still there wait
 * for a whole answer until the process cuts them off.
 */
export function openLine(
  request: Pick<RouteRequest<unknown, unknown, 'buyer'>, 'whenGone' | 'expired' | 'ending'>,
  { drainMs, isStream = false }: { drainMs: number; isStream?: boolean | undefined },
): Pick<RunningCall<Answering>, 'signal' | 'end' | 'leftAt'> {
  const { ending } = request;
  const controller = new AbortController();
  const abort = () => controller.abort();
  let leftAt: number | undefined;
  let timer = setTimeout(abort, MAX_CALL_MS);
  const stay = request.whenGone(() => {
    if (!request.expired && (isStream || !ending.aborted)) leftAt = performance.now();
    clearTimeout(timer);
    // After the deadline the answer is not billed, and after the end of the process nobody is there to bill it.
    const restMs = request.expired || ending.aborted ? Math.min(drainMs, DRAIN_MS) : drainMs;
    if (restMs === 0) abort();
    else timer = setTimeout(abort, restMs);
  });
  const endEarly = () => {
    if (isStream || leftAt !== undefined) abort();
  };
  ending.addEventListener('abort', endEarly, { once: true });
  if (ending.aborted) endEarly();
  return {
    signal: controller.signal,
    leftAt: () => leftAt,
    end() {
      clearTimeout(timer);
      stay();
      ending.removeEventListener('abort', endEarly);
    },
  };
}

/** A client that left is billed for its answer; one that waited for it, and cannot get it any more, is not. */
export function requireRecipient(
  request: Pick<RouteRequest<unknown, unknown, 'buyer'>, 'expired' | 'isCutOff'>,
): void {
  if (request.expired) throw deadlineError();
  if (request.isCutOff) throw restarting();
}

export interface Settled extends CountedUsage {
  /** What it cost, as the client is told. */
  cost: LedgerPrice;
}

/** Writes the bill; resolves when it stands. Of a call that its client left it is never more than was held. */
export async function settleCall(
  { attempt, hold, startedAt, end }: RunningCall<Answering>,
  produced: TextOutput,
): Promise<Settled> {
  end();
  const { usage, counted } = produced;
  const executionMs = Math.round(performance.now() - startedAt);
  const { price, details } = billOf(attempt.model, produced, executionMs);
  if (price.usd === 0n && price.diem === 0n) {
    await hold.release();
    return { usage, counted, cost: NOTHING };
  }
  const { cost } = await hold.settle(price, details, produced.clientLeft ? 'within the hold' : undefined);
  return { usage, counted, cost };
}

/** Beside the bill: whatever happens here is no failure of the call. */
export async function noteTokens(
  request: Pick<RouteRequest<unknown, unknown, 'buyer'>, 'noteTokens' | 'log'>,
  { usage }: CountedUsage,
): Promise<void> {
  try {
    await request.noteTokens(usage.promptTokens + usage.completionTokens);
  } catch (error) {
    request.log.warn({ err: error }, 'the tokens of a call could not be counted');
  }
}
