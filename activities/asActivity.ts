/** Converts errors for Temporal: which failure is retried. A new code without its row does not compile. */
import { ApplicationFailure, Context, cancellationSignal } from '@temporalio/activity';
import { type ErrorCode, FareboxError } from '../domain/errors.ts';

const RETRYABLE: Record<ErrorCode, boolean> = {
  invalid_request: false,
  invalid_json: false,
  invalid_content_type: false,
  unsupported_feature: false,
  context_length_exceeded: false,
  malformed_encryption: false,
  invalid_source: false,
  blocked_source: false,
  page_failed: false,
  invalid_media: false,
  media_too_long: false,
  invalid_document: false,
  payload_too_large: false,
  body_too_large: false,
  credential_missing: false,
  credential_invalid: false,
  credential_ambiguous: false,
  admin_key_required: false,
  forbidden: false,
  insufficient_balance: false,
  key_limit_exceeded: false,
  model_not_found: false,
  model_offline: false,
  character_not_found: false,
  request_id_invalid: false,
  media_not_found: false,
  route_not_found: false,
  method_not_allowed: false,
  conflict: false,
  idempotency_mismatch: false,
  rate_limited: true,
  provider_refused: false,
  provider_failed: false,
  upstream_failed: false,
  provider_busy: true,
  provider_unknown: false,
  timed_out: true,
  cancelled: false,
  unavailable: true,
  internal: true,
};

/** Whether a retry can help; an unknown error may be an outage. */
function isRetryable(error: unknown): boolean {
  return error instanceof FareboxError ? RETRYABLE[error.code] : true;
}

/**
 * Runs a step and converts its errors to the one failure class that crosses the Temporal boundary. The history gets the
 * public message; internal detail stays in the log.
 */
export async function asActivity<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await withHeartbeat(() => releaseWhenCancelled(step, cancellationSignal()));
  } catch (error) {
    if (error instanceof ApplicationFailure) throw error;
    const known = error instanceof FareboxError;
    throw ApplicationFailure.create({
      message: known ? error.message : 'The step failed; the log says why.',
      type: known ? error.code : 'internal',
      nonRetryable: !isRetryable(error),
      ...(error instanceof Error && !known ? { cause: new Error(error.name) } : {}),
    });
  }
}

/** Heartbeats per timeout: one may be late or lost. */
const BEATS = 4;

/** Runs a step with a regular heartbeat, so that a dead worker is noticed within seconds. */
export async function withHeartbeat<T>(step: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const { heartbeatTimeoutMs } = context.info;
  // Local activities have none: the workflow task is their heartbeat.
  if (!heartbeatTimeoutMs) return await step();
  const timer = setInterval(() => context.heartbeat(), heartbeatTimeoutMs / BEATS);
  try {
    return await step();
  } finally {
    clearInterval(timer);
  }
}

/** Time that a cancelled step has for cleanup. */
const GRACE_MS = 10_000;

/**
 * Runs a step, and waits no longer than a grace period after its cancellation. The server has given up such an attempt
 * long before (a cancellation comes at its timeout at the latest), so its answer does not count. Throws FareboxError
 * `timed_out` then.
 */
export function releaseWhenCancelled<T>(step: () => Promise<T>, signal: AbortSignal, graceMs = GRACE_MS): Promise<T> {
  return new Promise((resolve, reject) => {
    let expiry: NodeJS.Timeout | undefined;
    const cancelled = () => {
      expiry = setTimeout(() => reject(new FareboxError(STUCK)), graceMs);
    };
    const over = () => {
      clearTimeout(expiry);
      signal.removeEventListener('abort', cancelled);
    };
    if (signal.aborted) cancelled();
    else signal.addEventListener('abort', cancelled, { once: true });
    step().then(resolve, reject).finally(over);
  });
}

const STUCK = { code: 'timed_out', message: 'The step did not end when it was cancelled.' } as const;

/** Asks for another attempt of this very step, by its own growing pauses unless told: waiting adds nothing to the history. */
export function retryLater(why: { type: string; message: string }, retryAfterMs?: number): ApplicationFailure {
  return ApplicationFailure.create({
    ...why,
    // Waiting is no failure: it is neither logged nor counted as one.
    category: 'BENIGN',
    ...(retryAfterMs === undefined ? {} : { nextRetryDelay: retryAfterMs }),
  });
}
