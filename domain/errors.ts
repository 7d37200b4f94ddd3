/**
 * The error class of the service. `code` is a closed list: the tables in api/http/errors.ts (HTTP status and body) and
 * activities/asActivity.ts (retryable or not) have a row for each, or they do not compile.
 */
import type { LimitType } from './limits/limits.ts';

export const ERROR_CODES = [
  'invalid_request',
  'invalid_json',
  'invalid_content_type',
  'unsupported_feature',
  'context_length_exceeded',
  'malformed_encryption',
  'invalid_source',
  'blocked_source',
  'page_failed',
  'invalid_media',
  'media_too_long',
  'invalid_document',
  'payload_too_large',
  'body_too_large',
  'credential_missing',
  'credential_invalid',
  'credential_ambiguous',
  'admin_key_required',
  'forbidden',
  'insufficient_balance',
  'key_limit_exceeded',
  'model_not_found',
  'model_offline',
  'character_not_found',
  'request_id_invalid',
  'media_not_found',
  'route_not_found',
  'method_not_allowed',
  'conflict',
  'idempotency_mismatch',
  'rate_limited',
  'provider_refused',
  'provider_failed',
  'upstream_failed',
  'provider_busy',
  'provider_unknown',
  'timed_out',
  'cancelled',
  'unavailable',
  'internal',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

export interface ErrorParameters {
  code: ErrorCode;
  /** Message for the caller: complete, without internals. */
  message: string;
  /** For the log only; never has secrets, prompts or URL queries. */
  internal?: string;
  /** Validation detail per field (API-8). */
  fields?: Record<string, string[]>;
  /** Further members of `details` beside the fields, such as `supported_voices` (API-9). */
  details?: Readonly<Record<string, readonly string[]>>;
  /** Seconds after which a retry makes sense. */
  retryAfterSeconds?: number;
  /** For `rate_limited`: the limit, for the account's log of refusals when no window of the limiter has logged it. */
  limitType?: LimitType;
  cause?: unknown;
}

export class FareboxError extends Error {
  readonly code: ErrorCode;
  readonly internal: string | undefined;
  readonly fields: Record<string, string[]> | undefined;
  readonly details: Readonly<Record<string, readonly string[]>> | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly limitType: LimitType | undefined;

  constructor(parameters: ErrorParameters) {
    super(parameters.message, parameters.cause === undefined ? undefined : { cause: parameters.cause });
    this.name = 'FareboxError';
    this.code = parameters.code;
    this.internal = parameters.internal;
    this.fields = parameters.fields;
    this.details = parameters.details;
    this.retryAfterSeconds = parameters.retryAfterSeconds;
    this.limitType = parameters.limitType;
  }
}

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && (ERROR_CODES as readonly string[]).includes(value);
}
