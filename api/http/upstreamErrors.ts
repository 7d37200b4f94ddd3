/** Errors for clients when an upstream did not answer, and whether another model may be tried. */
import { type ErrorParameters, FareboxError } from '../../domain/errors.ts';
import { UpstreamFailure, type UpstreamFailureReason } from '../../domain/upstreamFailure.ts';

const BUSY_SECONDS = 30;

type ClientError = Pick<ErrorParameters, 'code' | 'message' | 'retryAfterSeconds'>;

const TOLD: Record<UpstreamFailureReason, ClientError> = {
  refused: { code: 'invalid_request', message: 'The model refused this request as invalid.' },
  context_length: {
    code: 'context_length_exceeded',
    message: 'The messages are longer than the context of the model.',
  },
  content_policy: {
    code: 'provider_refused',
    message: 'The request violates the content policy of the model.',
  },
  rate_limited: { code: 'rate_limited', message: 'The model is overloaded. Please try again later.' },
  overloaded: { code: 'rate_limited', message: 'The model is overloaded. Please try again later.' },
  credential: { code: 'provider_busy', message: 'The model cannot be reached at the moment.' },
  no_model: { code: 'provider_busy', message: 'The model cannot be reached at the moment.' },
  unreachable: { code: 'provider_busy', message: 'The model cannot be reached at the moment.' },
  failed: { code: 'provider_failed', message: 'Inference failed. Nothing was charged; please try again.' },
  garbage: { code: 'provider_failed', message: 'Inference failed. Nothing was charged; please try again.' },
  lost: { code: 'provider_failed', message: 'Inference failed. Nothing was charged; please try again.' },
  timeout: { code: 'timed_out', message: 'The model did not answer in time. Nothing was charged.' },
};

/** Failures that the request caused: no other model is tried. */
const FINAL = new Set<UpstreamFailureReason>(['refused', 'content_policy']);

export function mayFallBack(error: unknown): boolean {
  return error instanceof UpstreamFailure && !FINAL.has(error.reason);
}

export function toClientError(error: unknown): unknown {
  if (!(error instanceof UpstreamFailure)) return error;
  const entry = TOLD[error.reason];
  const limited = entry.code === 'rate_limited' || entry.code === 'provider_busy';
  return new FareboxError({
    ...entry,
    message: error.words ?? entry.message,
    ...(limited ? { retryAfterSeconds: Math.ceil((error.retryAfterMs ?? BUSY_SECONDS * 1_000) / 1_000) } : {}),
    internal: `${error.reason}: ${error.message}`,
    cause: error,
  });
}

/** For work whose deadline passed: its client got the error then, and does not pay for what came after. */
export function deadlineError(internal?: string): FareboxError {
  const message = 'The request took too long.';
  return new FareboxError({ code: 'timed_out', message, ...(internal !== undefined && { internal }) });
}

/** For a process that ends before there is an answer. */
export function restarting(): FareboxError {
  const message = 'The service is restarting. Nothing was charged; please try again.';
  return new FareboxError({ code: 'unavailable', message, retryAfterSeconds: 1 });
}

/** Error within a stream that has begun (TEXT-23). */
export function streamedError(error: unknown) {
  const reason = error instanceof UpstreamFailure ? error.reason : 'failed';
  if (reason === 'content_policy') {
    const message = 'The answer was stopped by the content policy of the model.';
    return { message, type: 'content_filter_error', code: 'content_blocked_by_provider', param: null };
  }
  if (reason === 'overloaded' || reason === 'rate_limited') {
    const message = 'The model is overloaded. Please try again later.';
    return {
      message,
      type: 'server_error',
      code: 'model_overloaded',
      param: null,
      retry_after: BUSY_SECONDS,
    };
  }
  const isRestart = error instanceof FareboxError && error.code === 'unavailable';
  return {
    message: `${isRestart ? 'The service is restarting: the' : 'The'} answer broke off. What was produced until then was billed.`,
    ...{ type: 'api_error', code: 'upstream_error', param: null },
  };
}
