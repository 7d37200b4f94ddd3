/**
 * What an error reply of ElevenLabs means for an order. The service names errors by `detail.code`, or `detail.status` in
 * its older form; wrong fields come as a list (FastAPI). Sources: the pages "Errors" and "Error messages" of its
 * documentation and its OpenAPI description.
 */
import { z } from 'zod';
import type { ProviderReply } from '../../infra/http/providerHttp.ts';
import type { Outcome, RefusalReason } from '../provider.ts';
import { retryAfterMs } from '../retryAfter.ts';
import { replyFacts } from './replyFacts.ts';

const detail = z.union([
  z.object({ code: z.string().nullish(), status: z.string().nullish(), message: z.string().nullish() }),
  z.array(z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() })),
  z.string(),
]);
const errorBody = z.object({ detail });

interface ServiceError {
  /** The service's own name for it; empty where it gave none. */
  code: string;
  message: string;
}

/** The operator's to mend, whatever the status: the key, the account, the plan. */
const CREDENTIAL_CODES = new Set([
  'invalid_api_key',
  'missing_api_key',
  'needs_authorization',
  'missing_permissions',
  'quota_exceeded',
  'insufficient_credits',
  'payment_required',
  'paid_plan_required',
  'subscription_required',
  'only_for_creator+',
  'detected_unusual_activity',
  'account_suspended',
  'model_not_found',
  'model_access_denied',
  'output_format_not_allowed',
]);

/** Plans decide which voices of others may be used: with a voice id of the client's own choice the order is at fault. */
const VOICE_PLAN_CODES = new Set(['payment_required', 'paid_plan_required', 'only_for_creator+']);

const CONTENT_CODES = new Set([
  'bad_prompt',
  'content_policy_violation',
  'content_violation',
  'flagged_content',
  'moderation_blocked',
  'safety_violation',
  'terms_of_service_violation',
  'detected_captcha_voice',
]);

/** Answered by gateways before or between the service's servers: the order may be running behind them. */
const GATEWAY_STATUSES = new Set([502, 503, 504, 520, 522, 524]);

const MAX_MESSAGE = 300;

/** For every status but 2xx. `custom`: the client chose a voice id of its own. */
export function outcomeOfError(reply: ProviderReply, custom: boolean): Outcome {
  const error = readError(reply.body);
  const told = `HTTP ${reply.status}${error?.code ? ` ${error.code}` : ''}${replyFacts(reply.headers)}`;
  if (reply.status === 429) return busyOrEmpty(reply, error, told);
  if (reply.status === 408 || reply.status === 425) return busy(reply, 'overloaded', told);
  if (reply.status >= 500) return serverError(reply, error, told);
  const reason = refusalReason(reply.status, error, custom);
  return { status: 'refused', reason, message: publicMessage(reason, error), detail: told };
}

/** Two kinds of 429 that need opposite answers: our own slots are full, or the whole service is. */
function busyOrEmpty(reply: ProviderReply, error: ServiceError | undefined, told: string): Outcome {
  switch (error?.code) {
    case 'too_many_concurrent_requests':
    case 'concurrent_limit_exceeded':
      return busy(reply, 'concurrency', told);
    case 'system_busy':
      return busy(reply, 'overloaded', told);
    case 'quota_exceeded':
    case 'insufficient_credits':
      return {
        status: 'refused',
        reason: 'credential',
        message: publicMessage('credential', error),
        detail: told,
      };
    default:
      return busy(reply, 'rate_limited', told);
  }
}

function serverError(reply: ProviderReply, error: ServiceError | undefined, told: string): Outcome {
  const overloaded = error?.code === 'system_busy' || (reply.status === 503 && error !== undefined);
  if (overloaded) return busy(reply, 'overloaded', told);
  // With the service's own words it is the service that answers; a page of a gateway says nothing about the order.
  if (error === undefined && GATEWAY_STATUSES.has(reply.status)) return { status: 'unknown', detail: told };
  return { status: 'refused', reason: 'failed', message: publicMessage('failed', error), detail: told };
}

function busy(
  reply: ProviderReply,
  reason: 'concurrency' | 'overloaded' | 'rate_limited',
  told: string,
): Outcome {
  const pauseMs = retryAfterMs(reply.headers['retry-after'], Date.now());
  return { status: 'busy', reason, detail: told, ...(pauseMs !== undefined && { retryAfterMs: pauseMs }) };
}

function refusalReason(status: number, error: ServiceError | undefined, custom: boolean): RefusalReason {
  const code = error?.code ?? '';
  if (CONTENT_CODES.has(code)) return 'content_policy';
  if (custom && VOICE_PLAN_CODES.has(code)) return 'invalid_request';
  if (CREDENTIAL_CODES.has(code)) return 'credential';
  if (status === 401 || status === 402 || status === 403) return 'credential';
  // Without the service's own words a 4xx, like a redirect, comes from something in front of it.
  return error === undefined || status < 400 ? 'failed' : 'invalid_request';
}

function publicMessage(reason: RefusalReason, error: ServiceError | undefined): string {
  if (reason === 'credential') return 'The voice service did not accept our credential.';
  if (reason === 'failed') return 'The voice service failed.';
  const words = error?.message ?? '';
  if (words !== '') return words;
  return reason === 'content_policy'
    ? 'The voice service refused the recording under its content policy.'
    : 'The voice service refused the request.';
}

function readError(body: Buffer): ServiceError | undefined {
  const parsed = errorBody.safeParse(parseJson(body));
  if (!parsed.success) return undefined;
  const found = parsed.data.detail;
  if (typeof found === 'string') return { code: '', message: clean(found) };
  if (Array.isArray(found)) {
    const fields = found.slice(0, 5).map((field) => `${field.loc.join('.')}: ${field.msg}`);
    return { code: 'validation_error', message: clean(fields.join('; ')) };
  }
  return { code: clean(found.code ?? found.status ?? ''), message: clean(found.message ?? '') };
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Foreign words on one line and of bounded length, before they reach a client or a log. */
function clean(text: string): string {
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_MESSAGE);
}
