/**
 * Queued services: submit, check and cancel are defined once per service, for jobs and for waiting clients. A direct
 * call is not used: its output is lost with its connection and still charged, while an order can be polled repeatedly.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import { rejectOnAbort } from '../../infra/rejectOnAbort.ts';
import { abandonedFailure, asMediaFailure, failureOfOutcome, translateMediaFailures } from './mediaFailures.ts';
import type { FailedOutcome } from './provider.ts';
import { lostFailure } from './textFailures.ts';

type TakenOrder<Ticket, Result> =
  | { status: 'running'; ticket: Ticket; percent?: number | undefined }
  | { status: 'succeeded'; ticket: Ticket; result: Result };

export type QueueState<Ticket, Result> = TakenOrder<Ticket, Result> | FailedOutcome;

/** Each step throws ServiceHttpError if the service did not answer it. */
export interface ServiceQueue<Order, Ticket, Result> {
  submit(order: Order, signal: AbortSignal): Promise<QueueState<Ticket, Result>>;
  check(ticket: Ticket, signal: AbortSignal): Promise<QueueState<Ticket, Result>>;
  /** True only if the service confirms that it stopped and nothing is charged. */
  cancel(ticket: Ticket, signal: AbortSignal): Promise<boolean>;
}

interface WaitOptions {
  signal: AbortSignal;
  /** Longest wait until the order is accepted. */
  submitMs: number;
  firstPauseMs: number;
}

const MAX_PAUSE_MS = 2_000;
/** Consecutive failed polls before the order is given up. */
const MAX_UNANSWERED = 8;
const CANCEL_MS = 10_000;

/** Throws UpstreamFailure; then the order has ended, or its cancellation was requested. */
export async function waitFor<Order, Ticket, Result>(
  queue: ServiceQueue<Order, Ticket, Result>,
  order: Order,
  waiting: WaitOptions,
): Promise<Result> {
  const { signal } = waiting;
  if (signal.aborted) throw abandonedFailure(signal);
  // The caller's abort does not stop it: without the reply the accepted order could not be cancelled.
  const submitted = submit(queue, order, waiting.submitMs);
  const taken = await rejectOnAbort(submitted, signal).catch((error: unknown) => {
    if (signal.aborted) void submitted.then((late) => cancel(queue, late), ignore);
    throw asMediaFailure(error, signal);
  });
  if (taken.status === 'succeeded') return taken.result;
  try {
    return await resultOf(queue, taken.ticket, waiting);
  } catch (error) {
    const failure = asMediaFailure(error, signal);
    if (mayStillRun(failure)) void cancel(queue, taken);
    throw failure;
  }
}

async function submit<Order, Ticket, Result>(
  queue: ServiceQueue<Order, Ticket, Result>,
  order: Order,
  submitMs: number,
): Promise<TakenOrder<Ticket, Result>> {
  const signal = AbortSignal.timeout(submitMs);
  const state = await translateMediaFailures(signal, () => queue.submit(order, signal));
  if (state.status === 'running' || state.status === 'succeeded') return state;
  throw failureOfOutcome(state);
}

async function resultOf<Ticket, Result>(
  queue: Pick<ServiceQueue<never, Ticket, Result>, 'check'>,
  ticket: Ticket,
  { signal, firstPauseMs }: WaitOptions,
): Promise<Result> {
  let unanswered = 0;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, MAX_PAUSE_MS)) {
    await pause(pauseMs, signal);
    const state = await queue.check(ticket, signal).catch((error: unknown) => unansweredOr(error, signal));
    if (state.status === 'succeeded') return state.result;
    if (state.status === 'refused') throw failureOfOutcome(state);
    unanswered = state.status === 'running' ? 0 : unanswered + 1;
    if (unanswered > MAX_UNANSWERED) throw lostFailure('the service left too many polls in a row unanswered');
    if (state.status === 'busy' && state.retryAfterMs !== undefined) await pause(state.retryAfterMs, signal);
  }
}

/** Rethrows permanent errors. */
function unansweredOr(error: unknown, signal: AbortSignal): FailedOutcome {
  const failure = asMediaFailure(error, signal);
  // A reply that is too large will be so again.
  const isFinal = signal.aborted || (failure instanceof UpstreamFailure && failure.reason === 'garbage');
  if (isFinal || !(error instanceof ServiceHttpError)) throw failure;
  return { status: 'unknown', detail: error.message };
}

/** Best effort in the background; the reply does not matter. */
async function cancel<Ticket, Result>(
  queue: Pick<ServiceQueue<never, Ticket, Result>, 'cancel'>,
  state: TakenOrder<Ticket, Result>,
): Promise<void> {
  if (state.status === 'running') await queue.cancel(state.ticket, AbortSignal.timeout(CANCEL_MS)).catch(ignore);
}

/** Only the service itself can confirm the end. */
function mayStillRun(failure: unknown): boolean {
  return !(failure instanceof UpstreamFailure) || failure.reason === 'timeout' || failure.reason === 'lost';
}

function ignore(): void {}

/** Throws UpstreamFailure on abort. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {
    throw abandonedFailure(signal);
  });
}
