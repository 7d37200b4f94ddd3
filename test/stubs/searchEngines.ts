/**
 * Stand-ins for two search engines, built from published descriptions: Brave's Web Search API (reference page with the
 * models WebSearchApiResponse and APIErrorResponse, pages on authentication and rate limiting) and SearXNG's search
 * API.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type EngineBehaviour = (request: IncomingMessage, response: ServerResponse) => void;

export interface EngineStub {
  baseUrl: string;
  requests: { url: URL; headers: IncomingMessage['headers'] }[];
  /** Replaces the response of the next requests, one each. */
  next: EngineBehaviour[];
  close(): Promise<void>;
}

async function startStub(ordinary: EngineBehaviour): Promise<EngineStub> {
  const stub: Omit<EngineStub, 'baseUrl' | 'close'> = { requests: [], next: [] };
  const server = createServer((request, response) => {
    stub.requests.push({ url: new URL(request.url ?? '/', 'http://stub'), headers: request.headers });
    (stub.next.shift() ?? ordinary)(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    ...stub,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function answering(status: number, body: unknown, headers: Record<string, string> = {}): EngineBehaviour {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (_, response) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}

export const BRAVE_KEY = 'brave-test-key';

/** Error body of Brave's API. */
export function braveError(status: number, code: string): { type: string; error: object; time: number } {
  const error = { id: '5d832250-9396-4f6e-b84a-2a1fe524cd7d', status, code, detail: 'Words.', meta: {} };
  return { type: 'ErrorResponse', error, time: 1_663_072_993 };
}

export function startBraveStub(): Promise<EngineStub> {
  return startStub((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://stub');
    const answer = (status: number, body: unknown) => answering(status, body)(request, response);
    if (request.method !== 'GET' || pathname !== '/res/v1/web/search') return answer(404, braveError(404, 'NOT_FOUND'));
    if (request.headers['x-subscription-token'] !== BRAVE_KEY)
      return answer(422, braveError(422, 'SUBSCRIPTION_TOKEN_INVALID'));
    const count = Number(searchParams.get('count') ?? 20);
    const query = searchParams.get('q') ?? '';
    if (query === '' || query.length > 400 || count < 1 || count > 20)
      return answer(422, braveError(422, 'VALIDATION'));
    const head = { type: 'search', query: { original: query, more_results_available: true } };
    if (query === 'nothing') return answer(200, head);
    answer(200, {
      ...head,
      web: { type: 'search', results: BRAVE_RESULTS.slice(0, count), family_friendly: true },
    });
  });
}

const BRAVE_RESULTS = Array.from({ length: 20 }, (_, index) => ({
  type: 'search_result',
  subtype: 'generic',
  title: `Result ${index} &amp; <strong>more</strong>`,
  url: `https://example.com/${index}`,
  description: `The <strong>answer</strong> is 4 &lt; 5, it&#x27;s said&hellip;`,
  is_source_local: false,
  language: 'en',
  profile: { name: 'Example', url: `https://example.com/${index}`, long_name: 'example.com', img: '' },
  meta_url: { scheme: 'https', netloc: 'example.com', hostname: 'example.com', favicon: '', path: '' },
  ...(index === 0 && { page_age: '2026-05-01T12:00:00', age: 'May 1, 2026' }),
  ...(index === 1 && { age: '3 days ago' }),
}));

export function startSearxngStub(): Promise<EngineStub> {
  return startStub((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://stub');
    if (pathname !== '/search') return answering(404, '<html>Page not found</html>')(request, response);
    if (searchParams.get('format') !== 'json') return answering(403, '<html>Forbidden</html>')(request, response);
    const query = searchParams.get('q') ?? '';
    if (query === '') return answering(400, '<html>No query</html>')(request, response);
    const none = { query, number_of_results: 0, results: [], answers: [], corrections: [], infoboxes: [] };
    const down = [
      ['duckduckgo', 'timeout'],
      ['brave', 'Suspended: too many requests'],
    ];
    const found = query === 'nothing' || query === 'outage' ? [] : SEARXNG_RESULTS;
    const unresponsive_engines = query === 'outage' ? down : [];
    answering(200, { ...none, results: found, suggestions: [], unresponsive_engines })(request, response);
  });
}

const SEARXNG_RESULTS = Array.from({ length: 12 }, (_, index) => ({
  url: `https://example.org/${index}`,
  title: `Hit ${index}`,
  content: index === 2 ? null : 'Some <b>text</b>.',
  publishedDate: index === 0 ? '2026-03-04T00:00:00' : null,
  engine: 'wikipedia',
  parsed_url: ['https', 'example.org', `/${index}`, '', '', ''],
  template: 'default.html',
  engines: ['wikipedia'],
  positions: [1],
  score: 1,
  category: 'general',
}));
