/** Converts outcomes of queued services, and errors of calls, to UpstreamFailure for a waiting client. */
import { UpstreamFailure, type UpstreamFailureReason } from '../../domain/upstreamFailure.ts';
import { isRefusedTarget } from '../../infra/http/guardedFetch.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import type { FailedOutcome } from './provider.ts';

/** Passes an outcome's message on only if the order is at fault. `status`: of the reply. */
export function failureOfOutcome(outcome: FailedOutcome, status?: number): UpstreamFailure {
  switch (outcome.status) {
    case 'refused': {
      const { reason, detail = reason } = outcome;
      const isTold = reason === 'refused' || reason === 'content_policy';
      return new UpstreamFailure({ reason, detail, status, message: isTold ? outcome.message : undefined });
    }
    case 'busy': {
      const { retryAfterMs, detail = outcome.reason } = outcome;
      const reason = outcome.reason === 'overloaded' ? 'overloaded' : 'rate_limited';
      return new UpstreamFailure({ reason, detail, status, retryAfterMs });
    }
    case 'unknown':
      return new UpstreamFailure({ reason: 'lost', detail: outcome.detail, status });
  }
}

/**
 * Converts an error of a call; other errors stay unchanged. `signal` is the caller's: an abort at the deadline counts
 * as a timeout, any other as a connection that Farebox broke.
 */
export function asMediaFailure(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof UpstreamFailure) return error;
  if (signal.aborted) return abandonedFailure(signal);
  if (!(error instanceof ServiceHttpError)) return error;
  const { message: detail, cause } = error;
  return new UpstreamFailure({
    reason: isRefusedTarget(error) ? 'failed' : reasonOfCall(error),
    detail,
    cause,
  });
}

/**
 * Failure of a call whose reply is read whole. Malformed HTTP counts as lost, like a truncated reply, and may be
 * retried.
 */
export function reasonOfCall({ sent, isTooLarge, isLate }: ServiceHttpError): UpstreamFailureReason {
  if (isTooLarge) return 'garbage';
  if (isLate) return 'timeout';
  return sent === 'not_sent' ? 'unreachable' : 'lost';
}

export function abandonedFailure(signal: AbortSignal): UpstreamFailure {
  const isDeadline = signal.reason instanceof Error && signal.reason.name === 'TimeoutError';
  return isDeadline
    ? new UpstreamFailure({ reason: 'timeout', detail: 'not done at the deadline', cause: signal.reason })
    : new UpstreamFailure({
        reason: 'lost',
        detail: 'given up: nobody waits any more',
        cause: signal.reason,
      });
}

/** Runs a call and converts its errors. */
export async function translateMediaFailures<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asMediaFailure(error, signal);
  }
}

/** Wraps an adapter's operations so that their errors are converted. */
export function operationsOf<Service>(service: Service) {
  return <Order, Context extends { signal: AbortSignal }, Result>(
    work: (service: Service, order: Order, context: Context) => Promise<Result>,
  ) =>
    (order: Order, context: Context) =>
      translateMediaFailures(context.signal, () => work(service, order, context));
}

/** Returns all results, or throws the first failure and aborts the others. */
export async function allOrFirstFailure<T>(
  works: readonly ((signal: AbortSignal) => Promise<T>)[],
  signal: AbortSignal,
): Promise<T[]> {
  const others = new AbortController();
  const each = AbortSignal.any([signal, others.signal]);
  try {
    return await Promise.all(works.map((work) => work(each)));
  } catch (error) {
    others.abort(error);
    throw error;
  }
}
