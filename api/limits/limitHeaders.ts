/** Headers that report limits (LIMIT-9, LIMIT-10). */
import type { Admission, Counter, CounterState } from '../../infra/redis/limiter.ts';

export type LimitHeaders = Readonly<Record<string, string>>;

export const NO_LIMIT_HEADERS: LimitHeaders = Object.freeze({});

/** Windows of a minute that an answer reports. */
export interface ReportedWindows {
  requests: Counter | undefined;
  tokens: Counter | undefined;
}

/** `counters`: those of the admission, in its order. */
export function stateOf(counters: readonly Counter[], { at, states }: Admission, counter: Counter): CounterState {
  return states[counters.indexOf(counter)] ?? { total: 0, resetsAt: at };
}

export function budgetHeaders(counters: readonly Counter[], admission: Admission, budget: Counter): LimitHeaders {
  const { total, resetsAt } = stateOf(counters, admission, budget);
  return {
    'x-ratelimit-remaining': String(Math.max(0, budget.limit - total)),
    'x-ratelimit-resets': String(Math.ceil(resetsAt)),
  };
}

/** After one more failure. */
export function withoutOne(headers: LimitHeaders): LimitHeaders {
  const remaining = Math.max(0, Number(headers['x-ratelimit-remaining']) - 1);
  return { ...headers, 'x-ratelimit-remaining': String(remaining) };
}

export function windowHeaders(
  counters: readonly Counter[],
  admission: Admission,
  { requests, tokens }: ReportedWindows,
): LimitHeaders {
  const headers: Record<string, string> = {};
  if (requests) {
    const { total, resetsAt } = stateOf(counters, admission, requests);
    headers['x-ratelimit-limit-requests'] = String(requests.limit);
    headers['x-ratelimit-remaining-requests'] = String(Math.max(0, requests.limit - total));
    headers['x-ratelimit-reset-requests'] = String(Math.ceil(resetsAt / 1_000));
  }
  if (tokens) {
    const { total, resetsAt } = stateOf(counters, admission, tokens);
    headers['x-ratelimit-limit-tokens'] = String(tokens.limit);
    headers['x-ratelimit-remaining-tokens'] = String(Math.max(0, tokens.limit - total));
    headers['x-ratelimit-reset-tokens'] = String(Math.ceil((resetsAt - admission.at) / 1_000));
  }
  return headers;
}
