/**
 * HTTP status with which retrieve reports the end of a job; a code that cannot end a job has the status of a failure.
 */
import type { ErrorCode } from '../../domain/errors.ts';

const FAILED = 500;

export const FAILURE_STATUS: Record<ErrorCode, number> = {
  invalid_request: 400,
  invalid_json: FAILED,
  invalid_content_type: FAILED,
  unsupported_feature: 400,
  context_length_exceeded: FAILED,
  malformed_encryption: FAILED,
  invalid_source: 400,
  blocked_source: FAILED,
  page_failed: FAILED,
  invalid_media: 400,
  media_too_long: 422,
  invalid_document: FAILED,
  payload_too_large: FAILED,
  body_too_large: FAILED,
  credential_missing: FAILED,
  credential_invalid: FAILED,
  credential_ambiguous: FAILED,
  admin_key_required: FAILED,
  forbidden: FAILED,
  insufficient_balance: FAILED,
  key_limit_exceeded: FAILED,
  model_not_found: FAILED,
  model_offline: 503,
  character_not_found: 404,
  request_id_invalid: FAILED,
  media_not_found: 404,
  route_not_found: FAILED,
  method_not_allowed: FAILED,
  conflict: FAILED,
  idempotency_mismatch: FAILED,
  rate_limited: FAILED,
  provider_refused: 422,
  provider_failed: FAILED,
  upstream_failed: FAILED,
  provider_busy: 503,
  provider_unknown: FAILED,
  timed_out: 504,
  // There is no media, now or later.
  cancelled: 404,
  unavailable: 503,
  internal: FAILED,
};
