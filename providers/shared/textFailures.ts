/** What the adapters of text services share about failures: words for the log, and never a word of a prompt or a reply. */
import { UpstreamFailure, type UpstreamFailureReason } from '../../domain/upstreamFailure.ts';
import { ServiceHttpError, type ServiceHttpFailure } from '../../infra/http/serviceHttpError.ts';
import { FrameTooLong } from './eventStream.ts';

const REASONS: Record<Exclude<ServiceHttpFailure, 'stopped' | 'unprepared'>, UpstreamFailureReason> = {
  unreachable: 'unreachable',
  timeout: 'timeout',
  lost: 'lost',
  garbage: 'garbage',
  unsendable: 'refused',
};

/** Anything that a call can throw, as an UpstreamFailure; mistakes of our own stay what they are. */
export function asFailure(error: unknown): unknown {
  if (error instanceof UpstreamFailure) return error;
  if (error instanceof FrameTooLong) return garbageFailure('a frame is too long');
  if (!(error instanceof ServiceHttpError)) return error;
  if (error.failure === 'unprepared') return error.cause;
  const reason = reasonOf(error.failure, error);
  const message = reason === 'refused' ? 'The headers of the request cannot be passed on.' : undefined;
  return new UpstreamFailure({ reason, detail: describe(error), cause: error, message });
}

export async function translateFailures<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asFailure(error);
  }
}

/** Given up by a deadline is the service's silence; given up by the client is a connection that we broke, if there was one. */
function reasonOf(
  failure: Exclude<ServiceHttpFailure, 'unprepared'>,
  { isLate, sent }: ServiceHttpError,
): UpstreamFailureReason {
  if (failure !== 'stopped') return REASONS[failure];
  if (isLate) return 'timeout';
  return sent === 'not_sent' ? 'unreachable' : 'lost';
}

/** Codes of the chain of causes; their messages may name addresses. */
function describe(error: ServiceHttpError): string {
  const codes: string[] = [];
  for (let each: unknown = error.cause; each instanceof Error && codes.length < 5; each = each.cause) {
    codes.push('code' in each && typeof each.code === 'string' ? each.code : each.name);
  }
  return codes.length === 0 ? error.message : `${error.message} (${codes.join(' <- ')})`;
}

export function garbageFailure(detail: string, status?: number): UpstreamFailure {
  return new UpstreamFailure({ reason: 'garbage', detail, status });
}

export function lostFailure(detail: string): UpstreamFailure {
  return new UpstreamFailure({ reason: 'lost', detail });
}

/** A name that a service gave to an error: a short word without digits, or a status; left out where it could be an echo. */
export function errorNameOf(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && /^([A-Za-z][A-Za-z_.:-]{0,63}|\d{1,3})$/.test(text) ? text : '';
}

/** A service's id of a request: printable and short, or left out. */
export function idOf(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/-]{1,80}$/.test(value) ? value : '';
}

/** A type that a service declared, for the log. */
export function printableType(text: string): string {
  return /^[\w.+/-]{1,80}$/.test(text) ? text : 'something else';
}

const MAX_WORDS = 300;

/** Foreign words on one line and of bounded length, before they reach a client. */
export function oneLine(value: unknown): string {
  if (typeof value !== 'string') return '';
  return value
    .slice(0, 4 * MAX_WORDS)
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_WORDS);
}

/** Undefined: it is none. */
export function parseJson(text: string | Buffer): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    return undefined;
  }
}

export type Fields = Record<string, unknown>;

export function definedFields(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Counts of tokens as services tell them: undefined unless a whole number from 0. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
