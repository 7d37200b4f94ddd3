/** Paid call of a text model: the models are tried in order, each with a hold of its own. */
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

/** Models with `complete` and `stream`. */
export type AnsweringModel = TextModel | DecisionModel;

interface CostBound {
  /** Highest possible cost. */
  bound: LedgerPrice;
}

/** `Priced`: the request of a model with its highest cost. */
export interface CallOrder<Model extends AnsweringModel, Priced extends CostBound, Body> {
  request: RouteRequest<Body, unknown, 'buyer'>;
  attempts: readonly NamedModel<Model>[];
  price(attempt: NamedModel<Model>): Priced;
  /** Work after the hold and before the call, which may replace the request. */
  inform?(call: ModelCall<Model, Priced>): Promise<Priced>;
  /** Time in ms for which the upstream may go on when the client has left. */
  drainMs(model: Model): number;
  /** A stream ends early when the process stops: its client can be told. */
  isStream?: boolean;
}

/** Running call of a model, with its hold. */
export type ModelCall<Model extends AnsweringModel, Priced> = Priced & RunningCall<Model>;

interface RunningCall<Model extends AnsweringModel> {
  attempt: NamedModel<Model>;
  provider: TextProvider;
  hold: LedgerHold;
  answerSpeeds: AnswerSpeeds;
  /** Ends the upstream call. */
  signal: AbortSignal;
  /**
   * Time (`performance.now()`) at which the client left; undefined while it is connected, or when it got an error or
   * was cut off.
   */
  leftAt(): number | undefined;
  /** Called when the upstream has ended. */
  end(): void;
  startedAt: number;
}

/** Longest call; then the upstream is closed and its output is billed. */
const MAX_CALL_MS = 600_000;
/** Drain time of one of many small answers, or of an answer that is not billed any more. */
export const DRAIN_MS = 5_000;
/**
 * Drain time of an answer that is billed by the usage at its end: a whole answer, or a stream that is not to be closed.
 * Longer than an upstream may take for its first byte by default.
 */
export const WHOLE_DRAIN_MS = 125_000;
/** Time after the call in which its resolution is retried. */
const RESOLVE_MS = 60_000;

type ModelCallDependencies = Pick<Dependencies, 'core' | 'accounts' | 'providers'>;

/**
 * Tries the models in order, each with its own limits and hold. Throws the error for the client when no model answered;
 * then no hold is open.
 */
export async function askModelsInOrder<Model extends AnsweringModel, Priced extends CostBound, T>(
  dependencies: ModelCallDependencies,
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
      return await purchaseCall(dependencies, order, { attempt, index, work });
    } catch (error) {
      if (isHeld) {
        request.log.warn({ err: error, model: attempt.model.id }, 'a model did not answer');
        failure = error;
        if (!mayFallBack(error) || request.signal.aborted || request.ending.aborted) break;
      } else if (failure === undefined || !isNoRoom(error)) {
        // A fallback is skipped: the client gets the error of the first model.
        throw error;
      }
    }
  }
  throw toClientError(failure);
}

/** The caller lacks funds or rate for this model, but perhaps not for another. */
const NO_ROOM = new Set<ErrorCode>(['rate_limited', 'insufficient_balance', 'key_limit_exceeded']);

function isNoRoom(error: unknown): boolean {
  return error instanceof FareboxError && NO_ROOM.has(error.code);
}

interface CallWork<Model extends AnsweringModel, Priced extends CostBound, T> {
  attempt: NamedModel<Model>;
  index: number;
  work(call: ModelCall<Model, Priced>): Promise<T>;
}

async function purchaseCall<Model extends AnsweringModel, Priced extends CostBound, T>(
  dependencies: ModelCallDependencies,
  { request, price, drainMs, isStream }: CallOrder<Model, Priced, unknown>,
  { attempt, index, work }: CallWork<Model, Priced, T>,
): Promise<T> {
  await request.admitModel(attempt.model.id);
  const priced = price(attempt);
  const provider = dependencies.providers.textProviders.get(attempt.model.provider);
  if (!provider) throw toClientError(new UpstreamFailure({ reason: 'no_model', detail: 'its provider is not open' }));
  const modelDrainMs = drainMs(attempt.model);
  const { answerSpeeds } = dependencies.providers;
  return await purchase(dependencies, request, {
    // Each fallback is an operation of its own: a released hold cannot be used again.
    operationId: index === 0 ? request.requestId : `${request.requestId}:${index + 1}`,
    bound: priced.bound,
    snapshot: snapshotOf(attempt.model, chatId(request.requestId)),
    ttlMs: MAX_CALL_MS + modelDrainMs + RESOLVE_MS,
    async work(hold) {
      const upstreamCall = openUpstreamCall(request, { drainMs: modelDrainMs, isStream });
      const startedAt = performance.now();
      try {
        return await work({ attempt, provider, hold, answerSpeeds, startedAt, ...upstreamCall, ...priced });
      } catch (error) {
        upstreamCall.end();
        throw error;
      }
    },
  });
}

async function informed<Model extends AnsweringModel, Priced extends CostBound>(
  call: ModelCall<Model, Priced>,
  { inform }: CallOrder<Model, Priced, unknown>,
): Promise<ModelCall<Model, Priced>> {
  if (!inform) return call;
  return { ...call, ...(await inform(call)), startedAt: performance.now() };
}

/** Id of the completion, also in the ledger (TEXT-16). */
export function chatId(requestId: string): string {
  return `chatcmpl-${requestId}`;
}

/**
 * The upstream call outlives its client by `drainMs`: the begun answer is paid for on both sides. A stream ends before
 * the process does, and so does a call whose client has left, so that it can be billed. Connected clients wait for a
 * whole answer until the process closes their connections.
 */
export function openUpstreamCall(
  request: Pick<RouteRequest<unknown, unknown, 'buyer'>, 'whenGone' | 'expired' | 'ending'>,
  { drainMs, isStream = false }: { drainMs: number; isStream?: boolean | undefined },
): Pick<RunningCall<AnsweringModel>, 'signal' | 'end' | 'leftAt'> {
  const { ending } = request;
  const controller = new AbortController();
  const abort = () => controller.abort();
  let leftAt: number | undefined;
  let timer = setTimeout(abort, MAX_CALL_MS);
  const stay = request.whenGone(() => {
    if (!request.expired && (isStream || !ending.aborted)) leftAt = performance.now();
    clearTimeout(timer);
    // After the deadline the answer is not billed, and after the end of the process nothing can bill it.
    const remainingMs = request.expired || ending.aborted ? Math.min(drainMs, DRAIN_MS) : drainMs;
    if (remainingMs === 0) abort();
    else timer = setTimeout(abort, remainingMs);
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

/** A client that left is billed for its answer; one that waited in vain is not. */
export function requireRecipient(request: Pick<RouteRequest<unknown, unknown, 'buyer'>, 'expired' | 'isCutOff'>): void {
  if (request.expired) throw deadlineError();
  if (request.isCutOff) throw restarting();
}

export interface CallBill extends CountedUsage {
  /** Cost as reported to the client. */
  cost: LedgerPrice;
}

/** Writes the bill; resolves when it stands. The bill of an abandoned call is never above its hold. */
export async function settleCall(
  { attempt, hold, startedAt, end }: RunningCall<AnsweringModel>,
  produced: TextOutput,
): Promise<CallBill> {
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

/** Runs beside the bill: an error here is no failure of the call. */
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
