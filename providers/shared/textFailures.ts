/** Failures of text services. Log texts never contain any of a prompt or a reply. */
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

/** Converts an error of a call to UpstreamFailure; other errors stay unchanged. */
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

/** An abort at the deadline is a timeout; one by the client is a connection that Farebox broke, if there was one. */
function reasonOf(
  failure: Exclude<ServiceHttpFailure, 'unprepared'>,
  { isLate, sent }: ServiceHttpError,
): UpstreamFailureReason {
  if (failure !== 'stopped') return REASONS[failure];
  if (isLate) return 'timeout';
  return sent === 'not_sent' ? 'unreachable' : 'lost';
}

/** Lists the error codes of the causes; messages may contain addresses. */
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

/** Error name of a service: a short word without digits, or a status. Empty if it could echo the request. */
export function errorNameOf(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && /^([A-Za-z][A-Za-z_.:-]{0,63}|\d{1,3})$/.test(text) ? text : '';
}

/** Request id of a service; empty unless printable and short. */
export function idOf(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/-]{1,80}$/.test(value) ? value : '';
}

/** Declared content type, for the log. */
export function printableType(text: string): string {
  return /^[\w.+/-]{1,80}$/.test(text) ? text : 'something else';
}

const MAX_WORDS = 300;
/** Longest text that is inspected. */
const MAX_READ = 2_000;

/** Makes upstream text one line of bounded length for clients and logs. */
export function oneLine(value: unknown): string {
  if (typeof value !== 'string') return '';
  return value
    .slice(0, MAX_READ)
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_WORDS);
}

/** Undefined: invalid JSON. */
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

/** Token count of a service; undefined unless a whole number from 0. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
