/** Brave Search: GET /res/v1/web/search with the key as X-Subscription-Token (api-dashboard.search.brave.com/documentation). */
import { z } from 'zod';
import { createServiceHttp, type WholeReply } from '../../infra/http/serviceHttp.ts';
import { askEngine, jsonOf } from '../search/askEngine.ts';
import { plainText } from '../search/plainText.ts';
import type { SearchProvider, SearchResult } from '../search/searchProvider.ts';
import type { ServiceAccess } from '../shared/serviceAccess.ts';
import { garbage } from '../shared/textFailures.ts';
import { failureOfReply } from './errorReply.ts';

const BASE_URL = 'https://api.search.brave.com';
const TIMEOUTS = { firstByteMs: 10_000, idleMs: 5_000 };
/** The service gives no more in one answer. */
const MAX_RESULTS = 20;

const text = z.string().nullish();
const answer = z.object({
  type: z.literal('search'),
  web: z
    .object({
      results: z.array(
        z.object({ title: text, url: z.string(), description: text, page_age: text, age: text }),
      ),
    })
    .nullish(),
});

export function createBrave(options: ServiceAccess): SearchProvider {
  const http = createServiceHttp({
    baseUrl: (options.baseUrl ?? BASE_URL).replace(/\/+(res\/v1\/*)?$/, ''),
    allowPrivateNetwork: options.allowPrivateNetwork,
    headers: { 'x-subscription-token': options.apiKey },
    timeouts: { ...TIMEOUTS, ...options.timeouts },
  });
  return {
    async search(query, { limit, signal }) {
      const count = Math.min(limit, MAX_RESULTS);
      const reply = await askEngine(http, {
        path: '/res/v1/web/search',
        query: { q: query, count: String(count), result_filter: 'web', text_decorations: 'false' },
        signal,
      });
      if (reply.status !== 200) throw failureOfReply(reply);
      return resultsOf(reply).slice(0, count);
    },
    close: () => http.close(),
  };
}

function resultsOf(reply: WholeReply): SearchResult[] {
  const parsed = answer.safeParse(jsonOf(reply));
  if (!parsed.success) throw garbage('another shape');
  // Without hits the part is left out.
  const results = parsed.data.web?.results ?? [];
  return results.map(({ title, url, description, page_age, age }) => ({
    title: plainText(title ?? ''),
    url,
    content: plainText(description ?? ''),
    date: page_age ?? age ?? '',
  }));
}
