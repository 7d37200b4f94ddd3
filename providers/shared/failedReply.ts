/** Reason of an error status without further details. */
import { UpstreamFailure, type UpstreamFailureReason } from '../../domain/upstreamFailure.ts';
import type { WholeReply } from '../../infra/http/serviceHttp.ts';
import type { FailedOutcome, GenerationRequest, Outcome } from './provider.ts';
import { errorNameOf, idOf } from './textFailures.ts';

const BY_STATUS: Record<number, UpstreamFailureReason> = {
  401: 'credential',
  402: 'credential',
  403: 'credential',
  404: 'no_model',
  // Some services send it if the generation, not the request, took too long.
  408: 'timeout',
  413: 'refused',
  425: 'overloaded',
  429: 'rate_limited',
  503: 'overloaded',
  504: 'timeout',
  524: 'timeout',
  529: 'overloaded',
};

/** Sent by gateways before or between the service's servers; the order may still be running. */
export const GATEWAY_STATUSES: ReadonlySet<number> = new Set([502, 503, 504, 520, 522, 524]);

/** Outcome of an order while the service has no capacity. */
export function busyOutcome(
  { headers }: WholeReply,
  reason: Extract<FailedOutcome, { status: 'busy' }>['reason'],
  detail: string,
): FailedOutcome {
  return { status: 'busy', reason, detail, retryAfterMs: retryAfterMs(headers['retry-after'], Date.now()) };
}

/** `spoke`: the body has the service's error form; a 4xx without it comes from a proxy. */
export function reasonOfStatus(status: number, spoke: boolean): UpstreamFailureReason {
  const known = BY_STATUS[status];
  if (known !== undefined) return known;
  if (status >= 500) return 'failed';
  if (status < 400) return 'garbage';
  return spoke ? 'refused' : 'failed';
}

export interface ErrorReport {
  status: number;
  reason: UpstreamFailureReason;
  /** The service's names for the error: its type and code. */
  names: readonly unknown[];
  /** Shown to the client if the request is at fault. */
  message: string;
  requestId: string | undefined;
  retryAfterMs: number | undefined;
}

const WORDS: Partial<Record<UpstreamFailureReason, string>> = {
  refused: 'The model refused the request.',
  content_policy: 'The model refused the request under its content policy.',
};

export function failureOf(report: ErrorReport): UpstreamFailure {
  const { status, reason } = report;
  const id = idOf(report.requestId);
  const names = report.names.map(errorNameOf).filter((each) => each !== '');
  const standard = WORDS[reason];
  const usual = status === 413 ? 'The request is too large for the model.' : standard;
  const isBusy = reason === 'rate_limited' || reason === 'overloaded';
  return new UpstreamFailure({
    reason,
    detail: [`HTTP ${status}`, ...names, ...(id === '' ? [] : [`request ${id}`])].join(' '),
    status,
    message: standard && (report.message || usual),
    retryAfterMs: isBusy ? report.retryAfterMs : undefined,
  });
}

/** Wait that the headers request: milliseconds, seconds or a date. */
export function pauseOf(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const exact = headers['retry-after-ms'];
  if (exact !== undefined && /^\d{1,9}(\.\d+)?$/.test(exact)) {
    return retryAfterMs(String(Number(exact) / 1_000), nowMs);
  }
  return retryAfterMs(headers['retry-after'], nowMs);
}

/** No job waits longer; its own deadline ends it anyway. */
const MAX_MS = 10 * 60_000;

/** Parses `Retry-After` (seconds or an HTTP date) to at most `MAX_MS`; undefined if absent or invalid. */
export function retryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  const pauseMs = /^\d{1,9}(\.\d+)?$/.test(text) ? Number(text) * 1_000 : dateMs(text) - nowMs;
  if (!Number.isFinite(pauseMs)) return undefined;
  return Math.min(MAX_MS, Math.max(0, Math.round(pauseMs)));
}

/** Accepts only HTTP's form with a weekday: Date.parse alone reads nearly any text as a date. */
function dateMs(text: string): number {
  return /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
}

/** Outcome for an order of a kind that the adapter does not serve, which the catalogue should prevent. */
export function unservedOutcome(request: GenerationRequest): Outcome {
  const message = 'The model is not available at the moment.';
  return { status: 'refused', reason: 'credential', message, detail: `no ${request.kind} at this provider` };
}
