/**
 * Maps the service's error replies to outcomes. Errors are objects with `title`, `detail` and `status`; a refused input
 * has `invalid_fields`. Sources: the service's OpenAPI description, its page "Rate limits" (429 and "Your rate limit
 * resets in ~30s."), and replies quoted in the threads of its JavaScript client.
 */
import { z } from 'zod';
import type { WholeReply } from '../../infra/http/serviceHttp.ts';
import { GATEWAY_STATUSES, retryAfterMs } from '../shared/failedReply.ts';
import type { FailedOutcome, RefusalReason } from '../shared/provider.ts';
import { oneLine, parseJson } from '../shared/textFailures.ts';
import { failedOutcome, isContentPolicy } from './prediction.ts';

const text = z.string().optional().catch(undefined);
const invalidField = z.object({ field: text, description: text });
const problem = z.object({
  title: text,
  detail: text,
  error: text,
  retry_after: z.number().nonnegative().optional().catch(undefined),
  invalid_fields: z.array(invalidField).optional().catch(undefined),
});
type Problem = z.infer<typeof problem>;

const MAX_FIELDS = 5;

/** Handles every status but 2xx in reply to a new order. */
export function outcomeOfSubmission(reply: WholeReply): FailedOutcome {
  const parsed = readProblem(reply.body);
  const detail = describe(reply, parsed);
  const waiting = waitOf(reply, parsed);
  if (waiting) return waiting;
  // A known error body proves that the service replied. A gateway's page says nothing about the order.
  if (parsed === undefined && GATEWAY_STATUSES.has(reply.status)) return { status: 'unknown', detail };
  if (reply.status >= 500 || reply.status < 400) return failedOutcome(detail);
  const reason = reasonOf(reply.status, parsed);
  return reason === 'failed'
    ? failedOutcome(detail)
    : { status: 'refused', reason, message: publicMessage(reason, parsed), detail };
}

/** Handles every status but 2xx when an order is polled. Only permanent errors end the order. */
export function outcomeOfQuestion(reply: WholeReply): FailedOutcome {
  const parsed = readProblem(reply.body);
  const detail = describe(reply, parsed);
  const waiting = waitOf(reply, parsed);
  if (waiting) return waiting;
  if (isCredential(reply.status)) {
    return { status: 'refused', reason: 'credential', message: publicMessage('credential', parsed), detail };
  }
  const gone = parsed !== undefined && (reply.status === 404 || reply.status === 410);
  return gone ? failedOutcome(`the prediction is gone: ${detail}`) : { status: 'unknown', detail };
}

/** Handles replies that prove that the order was not accepted. */
function waitOf(reply: WholeReply, parsed: Problem | undefined): FailedOutcome | undefined {
  const overloaded = reply.status === 503 && parsed !== undefined;
  const early = reply.status === 408 || reply.status === 425 || reply.status === 429;
  if (!early && !overloaded) return undefined;
  return {
    status: 'busy',
    reason: reply.status === 429 ? 'rate_limited' : 'overloaded',
    detail: describe(reply, parsed),
    retryAfterMs: pauseOf(reply, parsed),
  };
}

/** Wait from the header, from `retry_after`, or from the text: "Expected available in 1 second.", "resets in ~30s." */
function pauseOf(reply: WholeReply, parsed: Problem | undefined): number | undefined {
  const said = /(?:available|resets) in ~?(\d{1,6})(?:\.\d+)? ?s/i.exec(parsed?.detail ?? '')?.[1];
  const pause = reply.headers['retry-after'] ?? parsed?.retry_after?.toString() ?? said;
  return retryAfterMs(pause, Date.now());
}

function isCredential(status: number): boolean {
  return status === 401 || status === 402 || status === 403;
}

function reasonOf(status: number, parsed: Problem | undefined): RefusalReason {
  if (isCredential(status)) return 'credential';
  // A 4xx without a known error body comes from a proxy.
  if (parsed === undefined) return 'failed';
  if (isContentPolicy(`${parsed.title ?? ''} ${parsed.detail ?? ''}`)) return 'content_policy';
  // The operator configured a model or version that is missing or not accessible.
  if (status === 404 || /invalid version/i.test(parsed.title ?? '')) return 'credential';
  const fields = parsed.invalid_fields ?? [];
  // Fields outside the model's input are set by Farebox, for example the callback URL.
  const ours = fields.length > 0 && fields.every(({ field }) => !/^input\b/.test(field ?? ''));
  return ours ? 'failed' : 'refused';
}

function publicMessage(reason: RefusalReason, parsed: Problem | undefined): string {
  if (reason === 'credential') return 'The provider did not accept our credential.';
  const words = wordsOf(parsed);
  if (words !== '') return words;
  return reason === 'content_policy'
    ? 'The provider refused the order under its content policy.'
    : 'The provider refused the order.';
}

function wordsOf(parsed: Problem | undefined): string {
  const fields = (parsed?.invalid_fields ?? [])
    .slice(0, MAX_FIELDS)
    .flatMap(({ field, description }) => (description ? [`${field ?? 'input'}: ${description}`] : []));
  return oneLine(fields.length > 0 ? fields.join('; ') : (parsed?.detail ?? parsed?.error ?? parsed?.title ?? ''));
}

/** Log text. The title is one of a few fixed ones; the detail may repeat the client's text. */
function describe(reply: WholeReply, parsed: Problem | undefined): string {
  return `HTTP ${reply.status} ${oneLine(parsed?.title ?? '')}`.trim();
}

function readProblem(body: Buffer): Problem | undefined {
  const parsed = problem.safeParse(parseJson(body));
  if (!parsed.success) return undefined;
  const { title, detail, error, invalid_fields } = parsed.data;
  return (title ?? detail ?? error ?? invalid_fields) ? parsed.data : undefined;
}
