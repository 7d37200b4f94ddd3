/** What a status that is no success means where the service says no more; shared by the adapters of text services. */
import {
  UpstreamFailure,
  type UpstreamFailureParameters,
  type UpstreamFailureReason,
} from '../../domain/text/upstreamFailure.ts';
import { retryAfterMs } from './retryAfter.ts';
import { idOf, name } from './textFailures.ts';

const BY_STATUS: Record<number, UpstreamFailureReason> = {
  401: 'credential',
  402: 'credential',
  403: 'credential',
  404: 'no_model',
  // Some services answer it when the generation, not the request, took too long.
  408: 'timeout',
  413: 'refused',
  425: 'overloaded',
  429: 'rate_limited',
  503: 'overloaded',
  504: 'timeout',
  524: 'timeout',
  529: 'overloaded',
};

/** `spoke`: in the service's own words; without them a 4xx comes from something in front of it. */
export function reasonOfStatus(status: number, spoke: boolean): UpstreamFailureReason {
  const known = BY_STATUS[status];
  if (known !== undefined) return known;
  if (status >= 500) return 'failed';
  if (status < 400) return 'garbage';
  return spoke ? 'refused' : 'failed';
}

export interface Told {
  status: number;
  reason: UpstreamFailureReason;
  /** The service's names for the error: its type and code. */
  names: readonly unknown[];
  /** For the client, where the request is at fault. */
  message: string;
  requestId: string | undefined;
  retryAfterMs: number | undefined;
}

const WORDS: Partial<Record<UpstreamFailureReason, string>> = {
  refused: 'The model refused the request.',
  content_policy: 'The model refused the request under its content policy.',
};

export function failureOf(told: Told): UpstreamFailure {
  const { status, reason } = told;
  const id = idOf(told.requestId);
  const names = told.names.map(name).filter((each) => each !== '');
  const parameters: UpstreamFailureParameters = {
    reason,
    detail: [`HTTP ${status}`, ...names, ...(id === '' ? [] : [`request ${id}`])].join(' '),
    status,
  };
  const standard = WORDS[reason];
  if (standard !== undefined) {
    parameters.message = told.message === '' ? tooLarge(status, standard) : told.message;
  }
  const waits = reason === 'rate_limited' || reason === 'overloaded';
  if (waits && told.retryAfterMs !== undefined) parameters.retryAfterMs = told.retryAfterMs;
  return new UpstreamFailure(parameters);
}

function tooLarge(status: number, standard: string): string {
  return status === 413 ? 'The request is too large for the model.' : standard;
}

/** What the headers ask to wait: milliseconds, seconds or a date. */
export function pauseOf(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const exact = headers['retry-after-ms'];
  if (exact !== undefined && /^\d{1,9}(\.\d+)?$/.test(exact)) {
    return retryAfterMs(String(Number(exact) / 1_000), nowMs);
  }
  return retryAfterMs(headers['retry-after'], nowMs);
}
