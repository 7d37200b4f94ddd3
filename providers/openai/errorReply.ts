/**
 * Maps errors of services with OpenAI's API. OpenAI names errors by `error.type` and `error.code`. Older vLLM puts them
 * at the top level. Ollama's error may be a bare string. FastAPI before any service sends `detail`.
 */
import type { UpstreamFailure, UpstreamFailureReason } from '../../domain/upstreamFailure.ts';
import type { WholeReply } from '../../infra/http/serviceHttp.ts';
import { failureOf, pauseOf, reasonOfStatus } from '../shared/failedReply.ts';
import { errorNameOf, type Fields, isFields, oneLine, parseJson } from '../shared/textFailures.ts';

const BY_NAME: Record<string, UpstreamFailureReason> = {
  context_length_exceeded: 'context_length',
  exceed_context_size_error: 'context_length',
  content_filter: 'content_policy',
  content_filter_error: 'content_policy',
  content_policy_violation: 'content_policy',
  content_blocked_by_provider: 'content_policy',
  image_content_policy_violation: 'content_policy',
  invalid_prompt: 'content_policy',
  moderation_blocked: 'content_policy',
  ResponsibleAIPolicyViolation: 'content_policy',
  safety_violation: 'content_policy',
  cyber_policy_violation: 'content_policy',
  account_deactivated: 'credential',
  authentication_error: 'credential',
  billing_hard_limit_reached: 'credential',
  billing_not_active: 'credential',
  insufficient_balance: 'credential',
  insufficient_quota: 'credential',
  invalid_api_key: 'credential',
  permission_error: 'credential',
  unsupported_country_region_territory: 'credential',
  model_not_found: 'no_model',
  NotFoundError: 'no_model',
  DeploymentNotFound: 'no_model',
  engine_overloaded: 'overloaded',
  model_overloaded: 'overloaded',
  overloaded_error: 'overloaded',
  server_overloaded: 'overloaded',
  unavailable_error: 'overloaded',
  rate_limit_exceeded: 'rate_limited',
  rate_limit_error: 'rate_limited',
};

export function failureOfReply(reply: WholeReply, nowMs: number): UpstreamFailure {
  const error = errorIn(parseJson(reply.body));
  const named = error === undefined ? undefined : reasonOfNames(error);
  return failureOf({
    status: reply.status,
    reason: named ?? reasonOfStatus(reply.status, error !== undefined),
    names: [error?.type, error?.code],
    message: oneLine(error?.message),
    requestId: reply.headers['x-request-id'],
    retryAfterMs: pauseOf(reply.headers, nowMs) ?? resetOf(reply.headers),
  });
}

/** Maps an error sent in place of an answer or a frame. Some carry the HTTP status that could no longer be sent. */
export function failureOfError(error: Fields): UpstreamFailure {
  const code = Number(error.code ?? error.status);
  const status = Number.isInteger(code) && code >= 400 && code < 600 ? code : 200;
  const fallback = status === 200 ? 'failed' : reasonOfStatus(status, true);
  return failureOf({
    status,
    reason: reasonOfNames(error) ?? (error.type === 'invalid_request_error' ? 'refused' : fallback),
    names: [error.type, error.code],
    message: oneLine(error.message),
    requestId: undefined,
    retryAfterMs: undefined,
  });
}

/** The error object of an error body; undefined for any other body. */
export function errorIn(body: unknown): Fields | undefined {
  if (!isFields(body)) return undefined;
  if (isFields(body.error)) return body.error;
  if (typeof body.error === 'string') return { message: body.error };
  if (body.object === 'error') return body;
  if (body.choices !== undefined || body.data !== undefined) return undefined;
  if (typeof body.message === 'string') return body;
  return typeof body.detail === 'string' ? { message: body.detail } : undefined;
}

function reasonOfNames(error: Fields): UpstreamFailureReason | undefined {
  // `code` is more specific than `type`.
  for (const each of [errorNameOf(error.code), errorNameOf(error.type)]) {
    if (Object.hasOwn(BY_NAME, each)) return BY_NAME[each];
  }
  // vLLM has no code for this error.
  return /\bmaximum context length\b/.test(oneLine(error.message)) ? 'context_length' : undefined;
}

const RESETS = ['requests', 'tokens'] as const;
const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Longest `x-ratelimit-reset-tokens: 6m0s` among the exhausted limits, or among all if none is marked exhausted. */
function resetOf(headers: Readonly<Record<string, string>>): number | undefined {
  const usedUp = RESETS.filter((each) => headers[`x-ratelimit-remaining-${each}`] === '0');
  const pauses = (usedUp.length > 0 ? usedUp : RESETS).flatMap((each) => {
    const pause = durationMs(headers[`x-ratelimit-reset-${each}`]);
    return pause === undefined ? [] : [pause];
  });
  return pauses.length === 0 ? undefined : Math.min(10 * 60_000, Math.max(...pauses));
}

function durationMs(text: string | undefined): number | undefined {
  if (text === undefined || !/^(\d{1,9}(\.\d{1,9})?(ms|s|m|h))+$/.test(text)) return undefined;
  const parts = text.matchAll(/([\d.]+)(ms|s|m|h)/g);
  return Math.ceil([...parts].reduce((sum, [, size, unit]) => sum + Number(size) * (UNIT_MS[unit ?? ''] ?? 0), 0));
}
