/**
 * What went wrong at a service with a queue, for a client that waits: the outcomes in which such services are read, and
 * whatever a call can throw, as UpstreamFailure.
 */
import { UpstreamFailure, type UpstreamFailureReason } from '../../domain/text/upstreamFailure.ts';
import { isRefusedTarget } from '../../infra/http/guardedFetch.ts';
import { ProviderHttpError } from '../../infra/http/providerHttp.ts';
import { BodyTooLarge } from '../../infra/http/saveBody.ts';
import type { Outcome, RefusalReason } from './provider.ts';

const REFUSALS: Record<RefusalReason, UpstreamFailureReason> = {
  invalid_request: 'refused',
  content_policy: 'content_policy',
  failed: 'failed',
  credential: 'credential',
};

/** The words of an outcome reach the client where the order is at fault, and nobody else. */
export function failureOfOutcome(outcome: Outcome): UpstreamFailure {
  switch (outcome.status) {
    case 'refused': {
      const reason = REFUSALS[outcome.reason];
      const told = reason === 'refused' || reason === 'content_policy' ? { message: outcome.message } : {};
      return new UpstreamFailure({ reason, detail: outcome.detail ?? outcome.reason, ...told });
    }
    case 'busy': {
      const { retryAfterMs } = outcome;
      return new UpstreamFailure({
        reason: outcome.reason === 'rate_limited' ? 'rate_limited' : 'overloaded',
        detail: outcome.detail ?? outcome.reason,
        ...(retryAfterMs !== undefined && { retryAfterMs }),
      });
    }
    case 'unknown':
      return new UpstreamFailure({ reason: 'lost', detail: outcome.detail });
    case 'running':
    case 'done':
      throw new Error(`no failure: ${outcome.status}`);
  }
}

/**
 * What a call threw; mistakes of our own stay what they are. `signal` is the caller's: a call that was given up at the
 * deadline is the service's silence, one that was given up for another reason a connection that we broke.
 */
export function asMediaFailure(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof UpstreamFailure) return error;
  if (signal.aborted) return givenUp(signal);
  if (!(error instanceof ProviderHttpError)) return error;
  const { message: detail, cause } = error;
  if (cause instanceof BodyTooLarge) return new UpstreamFailure({ reason: 'garbage', detail });
  if (isTimeout(cause)) return new UpstreamFailure({ reason: 'timeout', detail, cause });
  if (error.sent === 'not_sent') {
    const reason = isRefusedTarget(error) ? 'failed' : 'unreachable';
    return new UpstreamFailure({ reason, detail, cause });
  }
  return new UpstreamFailure({ reason: 'lost', detail, cause });
}

export function givenUp(signal: AbortSignal): UpstreamFailure {
  return isTimeout(signal.reason)
    ? new UpstreamFailure({ reason: 'timeout', detail: 'not done at the deadline', cause: signal.reason })
    : new UpstreamFailure({
        reason: 'lost',
        detail: 'given up: nobody waits any more',
        cause: signal.reason,
      });
}

const TIMEOUT_CODES = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'];

function isTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === 'TimeoutError' || ('code' in error && TIMEOUT_CODES.includes(String(error.code)));
}

/** Runs a call in our words. */
export async function inMediaWords<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asMediaFailure(error, signal);
  }
}

/** All of them, or the first failure; then the others are given up. */
export async function allOrNone<T>(
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
