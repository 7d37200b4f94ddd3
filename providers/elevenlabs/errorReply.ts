/**
 * Maps ElevenLabs error replies to outcomes. The service names errors by `detail.code`, or by `detail.status` in its
 * older form. Some replies have both, and only `status` is specific (`bad_request` and `bad_prompt`). Wrong fields come
 * as a list (FastAPI). Sources: the pages "Errors", "Error messages" and "Music quickstart" of its documentation, and
 * its OpenAPI description.
 */
import { z } from 'zod';
import type { WholeReply } from '../../infra/http/serviceHttp.ts';
import { busyOutcome, GATEWAY_STATUSES } from '../shared/failedReply.ts';
import type { FailedOutcome, RefusalReason } from '../shared/provider.ts';
import { parseJson } from '../shared/textFailures.ts';

const detail = z.union([
  z.object({
    code: z.string().nullish(),
    status: z.string().nullish(),
    message: z.string().nullish(),
    data: z
      .object({ prompt_suggestion: z.string().nullish().catch(undefined) })
      .nullish()
      .catch(undefined),
  }),
  z.array(z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() })),
  z.string(),
]);
const errorBody = z.object({ detail });

interface ElevenLabsError {
  /** The service's names for the error; empty if it gave none. */
  names: readonly string[];
  message: string;
  suggestedPrompt?: string;
}

/** Errors of the key, account or plan, which the operator must fix, whatever the status. */
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

/** Errors in the order, whatever the status: excess length gets 400 or 401. */
const ORDER_CODES = new Set(['max_character_limit_exceeded', 'text_too_long', 'voice_not_found']);

/** The plan limits the use of other accounts' voices. If the client chose the voice id, the order is at fault. */
const VOICE_PLAN_CODES = new Set(['payment_required', 'paid_plan_required', 'only_for_creator+']);

const CONTENT_CODES = new Set([
  'bad_prompt',
  // Music is planned from the prompt first, and the plan is moderated too. A suggested plan is no prompt.
  'bad_composition_plan',
  'content_policy_violation',
  'content_violation',
  'flagged_content',
  'moderation_blocked',
  'safety_violation',
  'terms_of_service_violation',
  'detected_captcha_voice',
]);

const CONCURRENCY_CODES = new Set(['too_many_concurrent_requests', 'concurrent_limit_exceeded']);
const OVERLOAD_CODES = new Set(['system_busy']);
const EMPTY_CODES = new Set(['quota_exceeded', 'insufficient_credits']);

const MAX_MESSAGE = 300;
const MAX_NAME = 60;
/** Longest music prompt: a truncated suggestion could not be used. */
const MAX_SUGGESTION = 5_000;

/** Handles every status but 2xx. `custom`: the client chose a voice id that is not a default one. */
export function outcomeOfError(reply: WholeReply, custom: boolean): FailedOutcome {
  const error = readError(reply.body);
  const told = [`HTTP ${reply.status}`, ...(error?.names ?? [])].join(' ') + replyFacts(reply.headers);
  if (reply.status === 429) return busyOrEmpty(reply, error, told);
  if (reply.status === 408 || reply.status === 425) return busyOutcome(reply, 'overloaded', told);
  if (reply.status >= 500) return serverError(reply, error, told);
  const reason = refusalReason(reply.status, error, custom);
  const refused = { status: 'refused', reason, message: publicMessage(reason, error), detail: told } as const;
  const suggestedPrompt = reason === 'content_policy' ? error?.suggestedPrompt : undefined;
  return { ...refused, ...(suggestedPrompt !== undefined && { suggestedPrompt }) };
}

/** A 429 means that the account's slots are full, the service is overloaded, or the credit is used up. */
function busyOrEmpty(reply: WholeReply, error: ElevenLabsError | undefined, told: string): FailedOutcome {
  if (isOneOf(error, CONCURRENCY_CODES)) return busyOutcome(reply, 'concurrency', told);
  if (isOneOf(error, OVERLOAD_CODES)) return busyOutcome(reply, 'overloaded', told);
  if (!isOneOf(error, EMPTY_CODES)) return busyOutcome(reply, 'rate_limited', told);
  const message = publicMessage('credential', error);
  return { status: 'refused', reason: 'credential', message, detail: told };
}

function isOneOf(error: ElevenLabsError | undefined, codes: ReadonlySet<string>): boolean {
  return error?.names.some((name) => codes.has(name)) ?? false;
}

function serverError(reply: WholeReply, error: ElevenLabsError | undefined, told: string): FailedOutcome {
  const overloaded = isOneOf(error, OVERLOAD_CODES) || (reply.status === 503 && error !== undefined);
  if (overloaded) return busyOutcome(reply, 'overloaded', told);
  // A known error body proves that the service replied. A gateway's page says nothing about the order.
  if (error === undefined && GATEWAY_STATUSES.has(reply.status)) return { status: 'unknown', detail: told };
  return { status: 'refused', reason: 'failed', message: publicMessage('failed', error), detail: told };
}

function refusalReason(status: number, error: ElevenLabsError | undefined, custom: boolean): RefusalReason {
  if (isOneOf(error, CONTENT_CODES)) return 'content_policy';
  if (isOneOf(error, ORDER_CODES)) return 'refused';
  if (custom && isOneOf(error, VOICE_PLAN_CODES)) return 'refused';
  if (isOneOf(error, CREDENTIAL_CODES)) return 'credential';
  if (status === 401 || status === 402 || status === 403) return 'credential';
  // A 4xx without a known error body comes from a proxy, as a redirect does.
  return error === undefined || status < 400 ? 'failed' : 'refused';
}

function publicMessage(reason: RefusalReason, error: ElevenLabsError | undefined): string {
  if (reason === 'credential') return 'The audio service did not accept our credential.';
  if (reason === 'failed') return 'The audio service failed.';
  const words = error?.message ?? '';
  if (words !== '') return words;
  return reason === 'content_policy'
    ? 'The audio service refused the order under its content policy.'
    : 'The audio service refused the request.';
}

function readError(body: Buffer): ElevenLabsError | undefined {
  const parsed = errorBody.safeParse(parseJson(body));
  if (!parsed.success) return undefined;
  const found = parsed.data.detail;
  if (typeof found === 'string') return { names: [], message: clean(found, MAX_MESSAGE) };
  if (Array.isArray(found)) {
    const fields = found.slice(0, 5).map((field) => `${field.loc.join('.')}: ${field.msg}`);
    return { names: ['validation_error'], message: clean(fields.join('; '), MAX_MESSAGE) };
  }
  const names = [found.code, found.status].map((name) => clean(name ?? '', MAX_NAME));
  const suggestedPrompt = clean(found.data?.prompt_suggestion ?? '', MAX_SUGGESTION);
  return {
    names: [...new Set(names)].filter((name) => name !== ''),
    message: clean(found.message ?? '', MAX_MESSAGE),
    ...(suggestedPrompt !== '' && { suggestedPrompt }),
  };
}

/** Makes upstream text one line of bounded length for clients and logs. */
function clean(text: string, maxLength: number): string {
  const line = text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, maxLength);
  // JSON cannot be stored with half of a surrogate pair.
  return line.replace(/\p{Cs}$/u, '');
}

const TOLD = ['request-id', 'current-concurrent-requests', 'maximum-concurrent-requests'] as const;

/** Reply headers for operators: the request id and the used and available concurrency slots. */
export function replyFacts(headers: Record<string, string>): string {
  return TOLD.flatMap((name) => {
    const value = headers[name];
    return value !== undefined && /^[\w.-]{1,100}$/.test(value) ? [` ${name}=${value}`] : [];
  }).join('');
}
