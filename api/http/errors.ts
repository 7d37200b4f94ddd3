/** Status and body of each error code. A code without a row does not compile (API-7). */
import { z } from 'zod';
import { type ErrorCode, FareboxError } from '../../domain/errors.ts';
import { type Answer, json } from './answer.ts';
import { presentFields, presentIssues } from './validationDetails.ts';

export type BodyShape =
  /** `{error}` */
  | 'plain'
  /** `{error, details, issues}` for errors of fields, else `{error}`. */
  | 'validation'
  /** `{code, error}` */
  | 'coded'
  /** `{error, customMessage}` */
  | 'limited'
  /** `{error: {message, type, param?, code?}}`, as clients of the OpenAI convention expect it. */
  | 'typed';

interface ErrorRow {
  status: number;
  body: BodyShape;
}

const ROWS: Record<ErrorCode, ErrorRow> = {
  invalid_request: { status: 400, body: 'validation' },
  invalid_json: { status: 400, body: 'plain' },
  invalid_content_type: { status: 400, body: 'plain' },
  unsupported_feature: { status: 400, body: 'validation' },
  context_length_exceeded: { status: 400, body: 'typed' },
  malformed_encryption: { status: 400, body: 'typed' },
  invalid_source: { status: 400, body: 'validation' },
  blocked_source: { status: 400, body: 'plain' },
  page_failed: { status: 400, body: 'plain' },
  invalid_media: { status: 400, body: 'validation' },
  media_too_long: { status: 422, body: 'plain' },
  invalid_document: { status: 400, body: 'validation' },
  payload_too_large: { status: 413, body: 'coded' },
  body_too_large: { status: 413, body: 'plain' },
  credential_missing: { status: 402, body: 'plain' },
  credential_invalid: { status: 401, body: 'plain' },
  credential_ambiguous: { status: 400, body: 'plain' },
  admin_key_required: { status: 401, body: 'plain' },
  forbidden: { status: 403, body: 'plain' },
  insufficient_balance: { status: 402, body: 'plain' },
  key_limit_exceeded: { status: 402, body: 'plain' },
  model_not_found: { status: 404, body: 'plain' },
  model_offline: { status: 503, body: 'plain' },
  character_not_found: { status: 404, body: 'plain' },
  request_id_invalid: { status: 400, body: 'plain' },
  media_not_found: { status: 404, body: 'plain' },
  route_not_found: { status: 404, body: 'plain' },
  method_not_allowed: { status: 405, body: 'plain' },
  conflict: { status: 409, body: 'plain' },
  idempotency_mismatch: { status: 400, body: 'plain' },
  rate_limited: { status: 429, body: 'limited' },
  provider_refused: { status: 422, body: 'plain' },
  provider_failed: { status: 500, body: 'plain' },
  upstream_failed: { status: 502, body: 'plain' },
  provider_busy: { status: 503, body: 'plain' },
  provider_unknown: { status: 504, body: 'plain' },
  timed_out: { status: 504, body: 'plain' },
  cancelled: { status: 409, body: 'plain' },
  unavailable: { status: 503, body: 'plain' },
  internal: { status: 500, body: 'plain' },
};

export function errorStatus(code: ErrorCode): number {
  return ROWS[code].status;
}

export function errorShape(code: ErrorCode): BodyShape {
  return ROWS[code].body;
}

/** Unknown errors get a generic message; the cause is in the log under the same request id. */
export function toFareboxError(error: unknown): FareboxError {
  if (error instanceof FareboxError) return error;
  return new FareboxError({ code: 'internal', message: 'Internal server error', cause: error });
}

export function errorAnswer(error: FareboxError): Answer {
  const { status, body } = ROWS[error.code];
  const headers: Record<string, string> = {};
  if (error.retryAfterSeconds !== undefined) headers['Retry-After'] = String(Math.ceil(error.retryAfterSeconds));
  if (status === 401) headers['WWW-Authenticate'] = 'Bearer';
  return json(BODIES[body](error), { status, headers });
}

const BODIES: Record<BodyShape, (error: FareboxError) => unknown> = {
  plain: ({ message }) => ({ error: message }),
  coded: ({ code, message }) => ({ code: code.toUpperCase(), error: message }),
  limited: ({ message }) => ({ error: message, customMessage: message }),
  typed: ({ code, message }) => {
    const about = code === 'context_length_exceeded' ? { param: 'messages', code } : {};
    return { error: { message, type: 'invalid_request_error', ...about } };
  },
  validation: (error) => {
    if (error.cause instanceof z.ZodError) return { error: error.message, ...presentIssues(error.cause) };
    if (!error.fields) return { error: error.message };
    const { details, issues } = presentFields(error.fields);
    return { error: error.message, details: { ...details, ...error.details }, issues };
  },
};
