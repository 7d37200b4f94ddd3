/**
 * What an error reply of ElevenLabs means for an order. The service names errors by `detail.code`, by `detail.status` in
 * its older form, and some by both, of which only `status` is specific (`bad_request` and `bad_prompt`); wrong fields
 * come as a list (FastAPI). Sources: the pages "Errors", "Error messages" and "Music quickstart" of its documentation and
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
  /** The service's own names for it, none where it gave none. */
  names: readonly string[];
  message: string;
  suggestedPrompt?: string;
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

/** The order's fault, whatever the status: a length is refused with 400 or 401. */
const ORDER_CODES = new Set(['max_character_limit_exceeded', 'text_too_long', 'voice_not_found']);

/** Plans decide which voices of others may be used: with a voice id of the client's own choice the order is at fault. */
const VOICE_PLAN_CODES = new Set(['payment_required', 'paid_plan_required', 'only_for_creator+']);

const CONTENT_CODES = new Set([
  'bad_prompt',
  // Music from a prompt is planned first, and the plan is judged too; a plan that is suggested is no prompt.
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
/** Room for the longest prompt that music is made from: a suggestion that was cut could not be used. */
const MAX_SUGGESTION = 5_000;

/** For every status but 2xx. `custom`: the client chose a voice id of its own. */
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

/** Two kinds of 429 that need opposite answers: our own slots are full, or the whole service is. */
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
  // With the service's own words it is the service that answers; a page of a gateway says nothing about the order.
  if (error === undefined && GATEWAY_STATUSES.has(reply.status)) return { status: 'unknown', detail: told };
  return { status: 'refused', reason: 'failed', message: publicMessage('failed', error), detail: told };
}

function refusalReason(status: number, error: ElevenLabsError | undefined, custom: boolean): RefusalReason {
  if (isOneOf(error, CONTENT_CODES)) return 'content_policy';
  if (isOneOf(error, ORDER_CODES)) return 'refused';
  if (custom && isOneOf(error, VOICE_PLAN_CODES)) return 'refused';
  if (isOneOf(error, CREDENTIAL_CODES)) return 'credential';
  if (status === 401 || status === 402 || status === 403) return 'credential';
  // Without the service's own words a 4xx, like a redirect, comes from something in front of it.
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

/** Foreign words on one line and of bounded length, before they reach a client or a log. */
function clean(text: string, maxLength: number): string {
  const line = text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, maxLength);
  // Half a character at the cut could not be stored as JSON.
  return line.replace(/\p{Cs}$/u, '');
}

const TOLD = ['request-id', 'current-concurrent-requests', 'maximum-concurrent-requests'] as const;

/** Headers of a reply for operators: the request id of the service and the number of our slots in use. */
export function replyFacts(headers: Record<string, string>): string {
  return TOLD.flatMap((name) => {
    const value = headers[name];
    return value !== undefined && /^[\w.-]{1,100}$/.test(value) ? [` ${name}=${value}`] : [];
  }).join('');
}
