/**
 * Maps fal's error replies to outcomes. Models list errors in `detail` (FastAPI's form, with fal's own types). The
 * platform sends one `detail` with an `error_type`, also in the header `x-fal-error-type`. Sources: the pages "Model
 * Errors" and "Request Error Types" of its documentation, and its OpenAPI description of the queue.
 */
import { z } from 'zod';
import type { WholeReply } from '../../infra/http/serviceHttp.ts';
import { busyOutcome, GATEWAY_STATUSES } from '../shared/failedReply.ts';
import type { FailedOutcome, RefusalReason } from '../shared/provider.ts';
import { parseJson } from '../shared/textFailures.ts';

const place = z.union([z.string(), z.number()]);
const fieldError = z.object({
  loc: z.array(place).catch([]),
  msg: z.string().catch(''),
  type: z.string().catch(''),
});
const errorBody = z.object({
  detail: z.union([z.string(), z.array(fieldError).min(1), fieldError]),
  error_type: z.string().nullish().catch(undefined),
});

interface FalError {
  /** fal's names for the error; empty if it gave none. */
  types: readonly string[];
  message: string;
}

/** Rejected input or output content. */
const CONTENT_TYPES = new Set(['content_policy_violation']);

/** Failures of the service, whatever the status. */
const FAILED_TYPES = new Set([
  'internal_error',
  'internal_server_error',
  'generation_timeout',
  'downstream_service_error',
  'downstream_service_unavailable',
  'file_download_error',
  'no_media_generated',
  'request_cancelled',
  'request_timeout',
  'startup_timeout',
]);

/** Message of a 400 to a result request that came too early. It has no type and is never the client's fault. */
const NOT_YET = 'Request is still in progress';

const MAX_MESSAGE = 300;
const MAX_FIELDS = 5;

/**
 * Request that failed. `submit` creates an order, `status` reads its progress, `result` reads the model's own output.
 * After acceptance a busy reply is retried and never means that the order was not accepted.
 */
export type Stage = 'submit' | 'status' | 'result';

/** Handles every status but 2xx. */
export function outcomeOfError(reply: WholeReply, stage: Stage): FailedOutcome {
  const error = readError(reply.body);
  const detail = describeReply(reply, error);
  const { status } = reply;
  if (status === 429) return busyOutcome(reply, 'rate_limited', detail);
  if (status === 408 || status === 425) return busyOutcome(reply, 'overloaded', detail);
  if (status >= 500) return serverError(reply, error, { stage, detail });
  // A reply of a proxy says nothing about an accepted order.
  const early = error === undefined || error.message === NOT_YET;
  if (stage !== 'submit' && early) return { status: 'unknown', detail };
  const reason = refusalReason(reply, error, stage);
  return { status: 'refused', reason, message: publicMessage(reason, error), detail };
}

interface ErrorContext {
  stage: Stage;
  detail: string;
}

function serverError(reply: WholeReply, error: FalError | undefined, { stage, detail }: ErrorContext): FailedOutcome {
  const named = error !== undefined && error.types.length > 0;
  // The service repeats the model's error for an accepted order, after its own retries.
  if (stage !== 'submit' && named) return refusedAs(contentOr(error, 'failed'), error, detail);
  const asksToWait = error !== undefined || reply.headers['retry-after'] !== undefined;
  if (reply.status === 503 && asksToWait) return busyOutcome(reply, 'overloaded', detail);
  // A failed status request does not end the order.
  if (stage === 'status') return { status: 'unknown', detail };
  // A known error body proves that the service replied. A gateway's page says nothing about the order.
  if (error === undefined && GATEWAY_STATUSES.has(reply.status)) return { status: 'unknown', detail };
  return refusedAs(contentOr(error, 'failed'), error, detail);
}

function refusedAs(reason: RefusalReason, error: FalError | undefined, detail: string): FailedOutcome {
  return { status: 'refused', reason, message: publicMessage(reason, error), detail };
}

function contentOr(error: FalError | undefined, otherwise: RefusalReason): RefusalReason {
  return error?.types.some((type) => CONTENT_TYPES.has(type)) ? 'content_policy' : otherwise;
}

function refusalReason({ status }: WholeReply, error: FalError | undefined, stage: Stage): RefusalReason {
  if (status === 401 || status === 402 || status === 403) return 'credential';
  // An unknown endpoint is a wrong `upstreamModel`. An unknown order was deleted by fal.
  if (status === 404) return stage === 'submit' && error !== undefined ? 'credential' : 'failed';
  // A 4xx without a known error body comes from a proxy, as a redirect does.
  if (error === undefined || status < 400) return 'failed';
  if (error.types.some((type) => FAILED_TYPES.has(type))) return 'failed';
  return contentOr(error, 'refused');
}

function publicMessage(reason: RefusalReason, error: FalError | undefined): string {
  if (reason === 'credential') return 'The media service did not accept our credential.';
  if (reason === 'failed') return 'The media service failed.';
  const words = error?.message ?? '';
  if (words !== '') return words;
  return reason === 'content_policy'
    ? 'The media service refused the request under its content policy.'
    : 'The media service refused the request.';
}

function describeReply({ status, headers }: WholeReply, error: FalError | undefined): string {
  const header = headers['x-fal-error-type'];
  const types = [...(error?.types ?? []), ...(header === undefined ? [] : [header])];
  const requestId = headers['x-fal-request-id'];
  const parts = [...new Set(types), ...(requestId === undefined ? [] : [`request ${requestId}`])];
  return [`HTTP ${status}`, ...parts.filter(isName)].join(' ');
}

function isName(text: string): boolean {
  return /^[\w .-]{1,100}$/.test(text);
}

function readError(body: Buffer): FalError | undefined {
  const parsed = errorBody.safeParse(parseJson(body));
  if (!parsed.success) return undefined;
  const { detail, error_type: kind } = parsed.data;
  const named = kind === undefined || kind === null || kind === '' ? [] : [clean(kind)];
  if (typeof detail === 'string') return { types: named, message: clean(detail) };
  const fields = (Array.isArray(detail) ? detail : [detail]).slice(0, MAX_FIELDS);
  const types = fields.map(({ type }) => clean(type)).filter((type) => type !== '');
  return { types: [...types, ...named], message: clean(fields.map(wordsOf).join('; ')) };
}

/** Drops the leading "body" of `loc`. */
function wordsOf({ loc, msg }: z.infer<typeof fieldError>): string {
  const field = loc.filter((part, index) => index > 0 || part !== 'body').join('.');
  return field === '' ? msg : `${field}: ${msg}`;
}

/** Makes upstream text one line of bounded length, without URLs: those point to the client's media at fal. */
function clean(text: string): string {
  return text
    .slice(0, 10 * MAX_MESSAGE)
    .replace(/\b(https?|data):\S+/gi, '(address)')
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_MESSAGE);
}
