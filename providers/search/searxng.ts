/** SearXNG: GET /search?format=json on the operator's own instance (docs.searxng.org/dev/search_api.html). */
import { z } from 'zod';
import { UpstreamFailure, type UpstreamFailureReason } from '../../domain/upstreamFailure.ts';
import { createServiceHttp, type WholeReply } from '../../infra/http/serviceHttp.ts';
import { retryAfterMs } from '../shared/failedReply.ts';
import type { ServiceAccess } from '../shared/serviceAddresses.ts';
import { createSearchEngine, type SearchProvider } from './searchProvider.ts';

export interface SearxngOptions extends Omit<ServiceAccess, 'apiKey' | 'baseUrl'> {
  baseUrl: string;
  /** For an instance behind an authenticating proxy: sent as a bearer token. */
  apiKey?: string | undefined;
}

/** An instance waits for the slowest of many engines. */
const TIMEOUTS = { firstByteMs: 15_000, idleMs: 5_000 };

const text = z.string().nullish();
const answer = z.object({
  results: z.array(z.object({ title: text, url: z.string(), content: text, publishedDate: text })),
  unresponsive_engines: z.array(z.unknown()).default([]),
});

export function createSearxng(options: SearxngOptions): SearchProvider {
  return createSearchEngine({
    http: createServiceHttp({
      baseUrl: options.baseUrl,
      allowPrivateNetwork: options.allowPrivateNetwork,
      headers: options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` },
      timeouts: { ...TIMEOUTS, ...options.timeouts },
    }),
    path: '/search',
    queryOf: (query) => ({ q: query, format: 'json' }),
    answer,
    resultsOf({ results, unresponsive_engines: silent }) {
      if (results.length === 0 && silent.length > 0) {
        // No engine searched, so there is nothing to charge.
        const detail = `no results, and ${silent.length} engines did not answer`;
        throw new UpstreamFailure({ reason: 'failed', detail, status: 200 });
      }
      return results.map(({ title, url, content, publishedDate }) => ({
        title: title ?? '',
        url,
        content: content ?? '',
        date: publishedDate ?? '',
      }));
    },
    failureOf: failureOfReply,
  });
}

/** Errors come as pages. A 403 may also mean that the instance does not allow the JSON format. */
function failureOfReply({ status, headers }: WholeReply): UpstreamFailure {
  return new UpstreamFailure({
    reason: REASONS[status] ?? (status >= 500 ? 'failed' : 'garbage'),
    detail: `HTTP ${status}`,
    status,
    retryAfterMs: status === 429 ? retryAfterMs(headers['retry-after'], Date.now()) : undefined,
  });
}

const REASONS: Record<number, UpstreamFailureReason | undefined> = {
  400: 'refused',
  401: 'credential',
  403: 'credential',
  429: 'rate_limited',
  503: 'overloaded',
};
