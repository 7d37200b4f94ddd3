/**
 * Structured logs: one JSON object per line, with the fields listed here and no others. Keys, bodies, prompts, headers
 * and URLs have no field, so they cannot get in by accident. An unlisted field is left out and named under `dropped`,
 * so that its loss is noticed. Foreign text (messages of errors) is scrubbed.
 */
import { type DestinationStream, type LogFn, type Logger as PinoLogger, pino } from 'pino';
import { FareboxError } from '../domain/errors.ts';

export type Logger = PinoLogger;

export interface LogOptions {
  level: string;
  /** Name of the process: `api`, `worker`. */
  name: string;
  /** Standard output by default. */
  destination?: DestinationStream;
}

const FIELDS = new Set([
  ...['err', 'code', 'detail', 'reason', 'part', 'signal', 'count', 'ms', 'attempt', 'bytes'],
  ...['requestId', 'method', 'route', 'status', 'accountId', 'keyId', 'host', 'port', 'address', 'buildId'],
  ...['queueId', 'workflowId', 'activityType', 'taskQueue', 'queues', 'kind', 'model', 'modelId', 'provider'],
  ...['state', 'event', 'outcome', 'chargeId', 'refundId', 'operationId', 'duty', 'applied', 'removed'],
  ...[
    'expired',
    'reconciled',
    'objectKey',
    'folder',
    'exitCode',
    'providerReference',
    'retryAfterMs',
    'error',
    'paymentId',
    'network',
    'transaction',
    'settlement',
    'creditedUsd',
    'cause',
    'heldUsd',
    'billUsd',
    'missingUsd',
  ],
]);

export function createLogger(options: LogOptions): Logger {
  // Written asynchronously; the exit hook of pino flushes the rest at the end of the process.
  const destination = options.destination ?? pino.destination({ dest: 1, sync: false });
  return pino(
    {
      level: options.level,
      base: { service: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), bindings: (bindings) => bindings, log: allowed },
      serializers: { err: describeError, error: describeError },
      hooks: {
        logMethod(given, method) {
          method.apply(this, withWords(given));
        },
      },
    },
    destination,
  );
}

type LogArguments = Parameters<LogFn>;

/** Adds a message to an error logged without one: pino would use the error's own, unscrubbed. */
function withWords(given: LogArguments): LogArguments {
  const [first, words] = given as [unknown, unknown];
  if (words !== undefined || typeof first !== 'object' || first === null) return given;
  if (first instanceof Error) return [{ err: first }, 'an error'] as unknown as LogArguments;
  return 'err' in first ? ([first, 'an error'] as unknown as LogArguments) : given;
}

function allowed(fields: Record<string, unknown>): Record<string, unknown> {
  let dropped: string[] | undefined;
  for (const name in fields) {
    if (!FIELDS.has(name)) dropped = [...(dropped ?? []), name];
  }
  if (dropped === undefined) return fields;
  const kept = Object.entries(fields).filter(([name]) => FIELDS.has(name));
  return { ...Object.fromEntries(kept), dropped };
}

interface ErrorFields {
  type: string;
  message: string;
  code?: string;
  detail?: string;
  stack?: string;
  cause?: ErrorFields | string;
}

const MAX_CAUSE = 4;

/** Name, message, code, stack and causes; never other properties, where libraries keep requests and parameters. */
function describeError(error: unknown, depth = 0): ErrorFields | string {
  if (!(error instanceof Error)) return scrub(String(error));
  const { code, internal } = error as { code?: unknown; internal?: unknown };
  const stack = framesOf(error);
  return {
    type: error.name,
    message: scrub(wordsOf(error)),
    ...(typeof code === 'string' && { code }),
    ...(typeof internal === 'string' && { detail: scrub(internal) }),
    ...(stack && { stack: scrub(stack) }),
    ...(error.cause !== undefined && depth < MAX_CAUSE && { cause: describeError(error.cause, depth + 1) }),
  };
}

/**
 * A message for a client may quote its request or a provider's reply; code and detail say the same without that.
 * Findings of a schema contain names and values of the request.
 */
function wordsOf(error: Error): string {
  if (error instanceof FareboxError) return error.code;
  if (!('issues' in error && Array.isArray(error.issues))) return error.message;
  const codes = error.issues.slice(0, MAX_FINDINGS).map((issue: { code?: unknown }) => String(issue?.code));
  return [...new Set(codes)].join(', ');
}

const MAX_FINDINGS = 50;

/** A stack begins with the message, which may look like a stack itself. */
function framesOf({ stack = '', message }: Error): string {
  const after = stack.slice(Math.max(0, stack.indexOf(message)) + message.length);
  return /^ {4}at [\s\S]*/m.exec(stack.includes(message) ? after : stack)?.[0] ?? '';
}

const MAX_TEXT_LENGTH = 8_000;

/** Removes API keys, bearer tokens, query and credentials of URLs, and data URLs. */
export function scrub(text: string): string {
  return text
    .slice(0, MAX_TEXT_LENGTH)
    .replace(/FAREBOX_(ADMIN|INFERENCE)_KEY_[A-Za-z0-9_-]+/g, 'FAREBOX_$1_KEY_…')
    .replace(/\b(Bearer|Basic)\s+[^\s,"']+/gi, '$1 …')
    .replace(/\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/@"']*@/gi, '$1…@')
    .replace(/\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"']*/gi, cutQuery)
    .replace(/\bdata:[\w./+-]*[;,][^\s"')]*/gi, 'data:…');
}

function cutQuery(url: string): string {
  const at = url.search(/[?#]/);
  return at < 0 ? url : `${url.slice(0, at)}?…`;
}
