/** Brave Search: GET /res/v1/web/search with the key as X-Subscription-Token (api-dashboard.search.brave.com/documentation). */
import { z } from 'zod';
import { UpstreamFailure, type UpstreamFailureReason } from '../../domain/upstreamFailure.ts';
import { createServiceHttp, type WholeReply } from '../../infra/http/serviceHttp.ts';
import { retryAfterMs } from '../shared/failedReply.ts';
import type { ServiceAccess } from '../shared/serviceAddresses.ts';
import { errorNameOf, parseJson } from '../shared/textFailures.ts';
import { createSearchEngine, type SearchProvider } from './searchProvider.ts';

const BASE_URL = 'https://api.search.brave.com';
const TIMEOUTS = { firstByteMs: 10_000, idleMs: 5_000 };
/** Most results that the service returns per request. */
const MAX_RESULTS = 20;

const text = z.string().nullish();
const answer = z.object({
  type: z.literal('search'),
  web: z
    .object({
      results: z.array(z.object({ title: text, url: z.string(), description: text, page_age: text, age: text })),
    })
    .nullish(),
});

export function createBrave(options: ServiceAccess): SearchProvider {
  return createSearchEngine({
    http: createServiceHttp({
      baseUrl: (options.baseUrl ?? BASE_URL).replace(/\/+(res\/v1\/*)?$/, ''),
      allowPrivateNetwork: options.allowPrivateNetwork,
      headers: { 'x-subscription-token': options.apiKey },
      timeouts: { ...TIMEOUTS, ...options.timeouts },
    }),
    path: '/res/v1/web/search',
    maxResults: MAX_RESULTS,
    queryOf: (query, count) => ({
      ...{ q: query, count: String(count), result_filter: 'web', text_decorations: 'false' },
    }),
    answer,
    // The member is absent if there are no results.
    resultsOf: ({ web }) =>
      (web?.results ?? []).map(({ title, url, description, page_age, age }) => ({
        title: title ?? '',
        url,
        content: description ?? '',
        date: page_age ?? age ?? '',
      })),
    failureOf: failureOfReply,
  });
}

const errorBody = z.object({ error: z.object({ code: z.string() }) });

const CREDENTIAL_CODE = /SUBSCRIPTION|AUTHENTICATION|API_KEY|TOKEN_INVALID|OPTION_NOT_IN_PLAN|RESOURCE_NOT_ALLOWED/;
const QUOTA_CODE = /QUOTA|USAGE_LIMIT|BILLING/;

/** Maps an error reply. A wrong key is a 422, like a wrong query: only the code distinguishes them. */
function failureOfReply(reply: WholeReply): UpstreamFailure {
  const code = codeOf(reply.body);
  const reason = reasonOf(reply, code);
  return new UpstreamFailure({
    reason,
    detail: ['HTTP', reply.status, errorNameOf(code)].join(' ').trim(),
    status: reply.status,
    retryAfterMs: reason === 'rate_limited' ? pauseOf(reply.headers) : undefined,
  });
}

function reasonOf({ status, headers }: WholeReply, code: string): UpstreamFailureReason {
  if (CREDENTIAL_CODE.test(code) || QUOTA_CODE.test(code)) return 'credential';
  if (status === 429) return isMonthUsedUp(headers) ? 'credential' : 'rate_limited';
  if (status === 401 || status === 402 || status === 403) return 'credential';
  if (status === 503) return 'overloaded';
  if (status >= 500) return 'failed';
  // A 4xx without a known error body comes from a proxy.
  if (code === '') return 'garbage';
  return status === 400 || status === 422 ? 'refused' : 'failed';
}

interface Window {
  remaining: number;
  resetSeconds: number;
}

/** Reads the windows of the plan from the headers: "1, 15000" is one a second and 15,000 a month. */
function windowsOf(headers: Record<string, string>): Window[] {
  const numbers = (errorNameOf: string) =>
    (headers[errorNameOf] ?? '').split(',').map((part) => Number.parseInt(part, 10));
  const remaining = numbers('x-ratelimit-remaining');
  const reset = numbers('x-ratelimit-reset');
  return remaining
    .map((left, index) => ({ remaining: left, resetSeconds: reset[index] ?? Number.NaN }))
    .filter((window) => !Number.isNaN(window.remaining) && !Number.isNaN(window.resetSeconds));
}

const LONGER_THAN_ANY_PAUSE_SECONDS = 3_600;

function isMonthUsedUp(headers: Record<string, string>): boolean {
  return windowsOf(headers).some(
    ({ remaining, resetSeconds }) => remaining === 0 && resetSeconds > LONGER_THAN_ANY_PAUSE_SECONDS,
  );
}

function pauseOf(headers: Record<string, string>): number | undefined {
  const headerMs = retryAfterMs(headers['retry-after'], Date.now());
  if (headerMs !== undefined) return headerMs;
  const first = windowsOf(headers)[0];
  return first === undefined ? undefined : first.resetSeconds * 1_000;
}

function codeOf(body: Buffer): string {
  const code = errorBody.safeParse(parseJson(body)).data?.error.code ?? '';
  return /^[\w.-]{1,80}$/.test(code) ? code : '';
}
