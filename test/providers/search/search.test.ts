/** Both search engines: requests, results, and the failure reason of each fault. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import { createBrave } from '../../../providers/search/brave.ts';
import { createSearch } from '../../../providers/search/createSearch.ts';
import { plainText, type SearchProvider } from '../../../providers/search/searchProvider.ts';
import { createSearxng } from '../../../providers/search/searxng.ts';
import {
  answering,
  BRAVE_KEY,
  braveError,
  type EngineBehaviour,
  type EngineStub,
  startBraveStub,
  startSearxngStub,
} from '../../stubs/searchEngines.ts';
import { LONG_TIMEOUTS, SHORT_TIMEOUTS } from '../../stubs/timeouts.ts';

let braveStub: EngineStub;
let searxngStub: EngineStub;
let brave: SearchProvider;
let searxng: SearchProvider;
/** For silences. */
let hastyBrave: SearchProvider;
let hastySearxng: SearchProvider;

beforeAll(async () => {
  braveStub = await startBraveStub();
  searxngStub = await startSearxngStub();
  const common = { allowPrivateNetwork: true, timeouts: LONG_TIMEOUTS };
  brave = createBrave({ ...common, apiKey: BRAVE_KEY, baseUrl: braveStub.baseUrl });
  searxng = createSearxng({ ...common, baseUrl: searxngStub.baseUrl });
  const hasty = { ...common, timeouts: SHORT_TIMEOUTS };
  hastyBrave = createBrave({ ...hasty, apiKey: BRAVE_KEY, baseUrl: braveStub.baseUrl });
  hastySearxng = createSearxng({ ...hasty, baseUrl: searxngStub.baseUrl });
});
beforeEach(() => {
  braveStub.requests.length = 0;
});
afterAll(async () => {
  await Promise.all([brave, searxng, hastyBrave, hastySearxng].map((each) => each.close()));
  await Promise.all([braveStub.close(), searxngStub.close()]);
});

async function failure(provider: SearchProvider, query = 'q', limit = 5): Promise<UpstreamFailure> {
  const error = await provider.search(query, { limit }).catch((thrown: unknown) => thrown);
  if (!(error instanceof UpstreamFailure)) throw new Error(`not a failure: ${String(error)}`);
  return error;
}

describe('Brave', () => {
  it('receives one request with the key in its header, for plain text and the wanted number of results', async () => {
    await brave.search('a b&c', { limit: 3 });
    expect(braveStub.requests).toHaveLength(1);
    const [asked] = braveStub.requests;
    expect(asked?.headers['x-subscription-token']).toBe(BRAVE_KEY);
    expect(Object.fromEntries(asked?.url.searchParams ?? [])).toEqual({
      q: 'a b&c',
      count: '3',
      result_filter: 'web',
      text_decorations: 'false',
    });
  });

  it('returns results as text, with the date if there is one', async () => {
    const results = await brave.search('q', { limit: 3 });
    expect(results).toEqual([
      {
        title: 'Result 0 & more',
        url: 'https://example.com/0',
        content: "The answer is 4 < 5, it's said…",
        date: '2026-05-01T12:00:00',
      },
      expect.objectContaining({ url: 'https://example.com/1', date: '3 days ago' }),
      expect.objectContaining({ url: 'https://example.com/2', date: '' }),
    ]);
    expect(await brave.search('q', { limit: 50 })).toHaveLength(20);
  });

  it('returns an empty list when it finds nothing', async () => {
    expect(await brave.search('nothing', { limit: 5 })).toEqual([]);
  });

  it('distinguishes a wrong key from a wrong query, although both are 422', async () => {
    const apiKey = 'wrong';
    const wrong = createBrave({ apiKey, baseUrl: braveStub.baseUrl, allowPrivateNetwork: true });
    expect((await failure(wrong)).reason).toBe('credential');
    await wrong.close();
    expect((await failure(brave, 'x'.repeat(401))).reason).toBe('refused');
  });

  const month = (left: string) => ({
    'x-ratelimit-limit': '1, 15000',
    'x-ratelimit-remaining': `0, ${left}`,
    'x-ratelimit-reset': '1, 1419704',
  });
  const cases: [string, EngineBehaviour, Partial<UpstreamFailure>][] = [
    [
      'too many a second',
      answering(429, braveError(429, 'RATE_LIMITED'), month('9')),
      { reason: 'rate_limited', retryAfterMs: 1_000 },
    ],
    [
      'a pause in words of HTTP',
      answering(429, braveError(429, 'RATE_LIMITED'), { 'retry-after': '7' }),
      { reason: 'rate_limited', retryAfterMs: 7_000 },
    ],
    ['the month used up', answering(429, braveError(429, 'RATE_LIMITED'), month('0')), { reason: 'credential' }],
    ['the quota used up', answering(429, braveError(429, 'QUOTA_LIMITED')), { reason: 'credential' }],
    ['no key', answering(401, braveError(401, 'AUTHENTICATION_ERROR')), { reason: 'credential', status: 401 }],
    ['a plan without it', answering(400, braveError(400, 'OPTION_NOT_IN_PLAN')), { reason: 'credential' }],
    ['its own failure', answering(500, braveError(500, 'INTERNAL')), { reason: 'failed', status: 500 }],
    ['no room', answering(503, 'down'), { reason: 'overloaded' }],
    ['a gateway', answering(404, '<html>'), { reason: 'garbage', status: 404 }],
    ['a redirect', answering(302, '', { location: 'https://example.com/' }), { reason: 'garbage' }],
    ['no JSON', answering(200, '<html>hello</html>'), { reason: 'garbage' }],
    ['another shape', answering(200, { results: [] }), { reason: 'garbage' }],
    ['a list of numbers', answering(200, { type: 'search', web: { results: [1] } }), { reason: 'garbage' }],
    ['too much', answering(200, `"${'x'.repeat(1_100_000)}"`), { reason: 'garbage' }],
    ['silence', () => undefined, { reason: 'timeout' }],
    ['a broken line', (request) => request.socket.resetAndDestroy(), { reason: 'lost' }],
    [
      'silence in the middle',
      (_, response) => response.writeHead(200, { 'content-length': '100' }).write('{'),
      { reason: 'timeout' },
    ],
  ];

  it.each(cases)('has a distinct failure for %s', async (_what, behaviour, expected) => {
    braveStub.next.push(behaviour);
    const engine = expected.reason === 'timeout' ? hastyBrave : brave;
    expect(await failure(engine)).toMatchObject(expected);
    expect(braveStub.requests).toHaveLength(1);
  });

  it('is unreachable when nothing listens, without the query or the key in the failure', async () => {
    const baseUrl = 'http://127.0.0.1:1';
    const nobody = createBrave({ apiKey: 'secret-key', baseUrl, allowPrivateNetwork: true });
    const error = await failure(nobody, 'secret-query');
    expect(error.reason).toBe('unreachable');
    expect(`${error.message} ${error.stack}`).not.toMatch(/secret/);
    await nobody.close();
  });

  it('is called on a private address only if the configuration allows it', async () => {
    const guarded = createBrave({ apiKey: BRAVE_KEY, baseUrl: braveStub.baseUrl });
    expect((await failure(guarded)).reason).toBe('unreachable');
    expect(braveStub.requests).toHaveLength(0);
    await guarded.close();
  });

  it('ends the call when the caller aborts', async () => {
    braveStub.next.push(() => undefined);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('nobody waits')), 50);
    const asked = brave.search('q', { limit: 1, signal: controller.signal });
    await expect(asked).rejects.toThrow('nobody waits');
  });
});

describe('SearXNG', () => {
  it('returns its results as text, as many as wanted', async () => {
    const results = await searxng.search('q', { limit: 3 });
    expect(results).toEqual([
      { title: 'Hit 0', url: 'https://example.org/0', content: 'Some text.', date: '2026-03-04T00:00:00' },
      { title: 'Hit 1', url: 'https://example.org/1', content: 'Some text.', date: '' },
      { title: 'Hit 2', url: 'https://example.org/2', content: '', date: '' },
    ]);
  });

  it('returns an empty list for no results, and fails when no engine was queried', async () => {
    expect(await searxng.search('nothing', { limit: 5 })).toEqual([]);
    expect((await failure(searxng, 'outage')).reason).toBe('failed');
  });

  it.each<[string, EngineBehaviour, Partial<UpstreamFailure>]>([
    [
      'its limiter',
      answering(429, 'Too many', { 'retry-after': '3' }),
      { reason: 'rate_limited', retryAfterMs: 3_000 },
    ],
    ['JSON switched off', answering(403, '<html>'), { reason: 'credential' }],
    ['a door before it', answering(401, ''), { reason: 'credential' }],
    ['a crash', answering(500, ''), { reason: 'failed' }],
    ['a page', answering(200, '<html>'), { reason: 'garbage' }],
    ['silence', () => undefined, { reason: 'timeout' }],
  ])('has a distinct failure for %s', async (_what, behaviour, expected) => {
    searxngStub.next.push(behaviour);
    const engine = expected.reason === 'timeout' ? hastySearxng : searxng;
    expect(await failure(engine)).toMatchObject(expected);
  });
});

describe('the configured engine', () => {
  const secret = (name: string) => ({ BRAVE_API_KEY: 'k', OTHER: 'o' })[name];

  it.each([
    ['Brave without an entry, when its key is set', { secret }, true],
    ['none without an entry and a key', { secret: () => undefined }, false],
    ['Brave by another key', { search: { kind: 'brave', apiKeyEnv: 'OTHER' }, secret }, true],
    ['no Brave when its key is missing', { search: { kind: 'brave', apiKeyEnv: 'MISSING' }, secret }, false],
    ['SearXNG, which needs no key', { search: { kind: 'searxng', baseUrl: 'http://s' }, secret }, true],
    [
      'no SearXNG when the key it should have is missing',
      { search: { kind: 'searxng', baseUrl: 'http://s', apiKeyEnv: 'MISSING' }, secret },
      false,
    ],
  ] as const)('is %s', async (_what, configuration, opened) => {
    const provider = createSearch(configuration);
    expect(provider !== undefined).toBe(opened);
    await provider?.close();
  });
});

it('removes tags and entities from result text, and keeps text that only resembles them', () => {
  expect(plainText('<b class="x">a</b> &lt;b&gt; 1 < 2 > 0 &unknown; &#128512; &#x0;')).toBe(
    'a <b> 1 < 2 > 0 &unknown; 😀 &#x0;',
  );
});
