/** Maps errors of the Messages API: `{type: "error", error: {type, message, details}, request_id}`. */
import type { UpstreamFailure, UpstreamFailureReason } from '../../domain/upstreamFailure.ts';
import type { WholeReply } from '../../infra/http/serviceHttp.ts';
import { failureOf, pauseOf, reasonOfStatus } from '../shared/failedReply.ts';
import { errorNameOf, type Fields, isFields, oneLine, parseJson } from '../shared/textFailures.ts';

const BY_TYPE: Record<string, UpstreamFailureReason> = {
  invalid_request_error: 'refused',
  request_too_large: 'refused',
  authentication_error: 'credential',
  billing_error: 'credential',
  permission_error: 'credential',
  not_found_error: 'no_model',
  rate_limit_error: 'rate_limited',
  timeout_error: 'timeout',
  api_error: 'failed',
  overloaded_error: 'overloaded',
};

/** HTTP status of each error type, for errors inside a stream. */
const STATUS: Record<string, number> = { overloaded_error: 529, rate_limit_error: 429, api_error: 500 };

export function failureOfReply(reply: WholeReply, nowMs: number): UpstreamFailure {
  const body = parseJson(reply.body);
  const error = isFields(body) && isFields(body.error) ? body.error : undefined;
  return failureOf({
    status: reply.status,
    reason: error === undefined ? reasonOfStatus(reply.status, false) : reasonOf(reply.status, error),
    names: [error?.type, codeOf(error)],
    message: oneLine(error?.message),
    requestId: reply.headers['request-id'],
    retryAfterMs: pauseOf(reply.headers, nowMs) ?? resetOf(reply.headers, nowMs),
  });
}

/** Maps an error sent in place of a message or a frame. */
export function failureOfError(frame: Fields): UpstreamFailure {
  const error = isFields(frame.error) ? frame.error : {};
  const status = STATUS[errorNameOf(error.type)] ?? 200;
  return failureOf({
    status,
    reason: reasonOf(500, error),
    names: [error.type, codeOf(error)],
    message: oneLine(error.message),
    requestId: /^req_\w+$/.test(String(frame.request_id)) ? String(frame.request_id) : undefined,
    retryAfterMs: undefined,
  });
}

function reasonOf(status: number, error: Fields): UpstreamFailureReason {
  const type = errorNameOf(error.type);
  // Exhausted funds are the operator's problem, not the client's.
  if (/spend_limit|billing|on_hold/.test(codeOf(error))) return 'credential';
  const known = Object.hasOwn(BY_TYPE, type) ? BY_TYPE[type] : undefined;
  if (known !== 'refused') return known ?? reasonOfStatus(status, true);
  const said = oneLine(error.message).toLowerCase();
  if (said.includes('credit balance')) return 'credential';
  if (said.startsWith('prompt is too long') || said.includes('exceed context limit')) return 'context_length';
  return said.includes('content filtering policy') ? 'content_policy' : 'refused';
}

function codeOf(error: Fields | undefined): string {
  return isFields(error?.details) ? errorNameOf(error.details.error_code) : '';
}

const LIMITS = ['requests', 'tokens', 'input-tokens', 'output-tokens'] as const;
const MAX_MS = 10 * 60_000;

/** Latest reset of the exhausted limits, from `anthropic-ratelimit-tokens-reset: 2026-01-01T00:00:10Z`. */
function resetOf(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const resets = LIMITS.filter((limit) => headers[`anthropic-ratelimit-${limit}-remaining`] === '0')
    .map((limit) => Date.parse(headers[`anthropic-ratelimit-${limit}-reset`] ?? '') - nowMs)
    .filter(Number.isFinite);
  return resets.length === 0 ? undefined : Math.min(MAX_MS, Math.max(0, ...resets));
}
