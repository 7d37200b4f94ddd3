/** Cross-origin requests: what a browser is told about the routes, also in errors, and where it is told nothing. */
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { json } from '../../api/http/answer.ts';
import { defineRoute } from '../../api/http/route.ts';
import { ROUTES } from '../../api/routes.ts';
import { FareboxError } from '../../domain/errors.ts';
import { filesWith, readSource } from '../architecture/sources.ts';
import { operationsOf, readDescription } from '../harness/apiContract.ts';
import { startApi, type TestApi } from './startApi.ts';
import { welcomeWallets } from './wallets/walletWorld.ts';

const PAGE = 'https://app.example';
const ALLOW = 'access-control-allow-origin';

const small = defineRoute({
  method: 'POST',
  path: '/test/small',
  access: 'open',
  body: { json: { schema: z.strictObject({}), maxBytes: 10 } },
  handler: async () => json({}, { headers: { Vary: 'Accept' } }),
});
const failing = defineRoute({
  method: 'GET',
  path: '/test/failing/{code}',
  access: 'open',
  handler: async (_dependencies, { params }) => {
    if (params.code === 'broken') throw new Error('a mistake');
    throw new FareboxError({ code: params.code as 'rate_limited', message: 'No.', retryAfterSeconds: 1 });
  },
});
const operating = defineRoute({
  method: 'GET',
  path: '/operator/test',
  access: 'open',
  handler: async () => json({}),
});

const routes = [small, failing, operating];

async function start(origins?: string[]): Promise<TestApi> {
  return await startApi({
    routes,
    config: (config) => ({
      ...config,
      brand: { ...config.brand, aliases: ['acme'] },
      ...(origins && { cors: { origins } }),
    }),
  });
}

function send(api: TestApi, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${api.origin}${path}`, { ...init, headers: { origin: PAGE, ...init.headers } });
}

function preflight(api: TestApi, path: string, headers: Record<string, string> = {}): Promise<Response> {
  return send(api, path, { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST', ...headers } });
}

function corsHeadersOf({ headers }: Response): string[] {
  return [...headers.keys()].filter((name) => name.startsWith('access-control-'));
}

function listOf(response: Response, name: string): string[] {
  return (response.headers.get(name) ?? '').split(/, */);
}

let api: TestApi;
beforeAll(async () => {
  api = await start();
  welcomeWallets(api);
});
afterAll(() => api.stop());

describe('by default a page of any origin', () => {
  interface RequestOptions {
    method?: string;
    body?: string;
    type?: string;
    key?: string;
  }

  test.each<[string, number, string, RequestOptions]>([
    ['an answer', 200, '/test/small', { method: 'POST', body: '{}', type: 'application/json' }],
    ['a refused credential', 401, '/models', { key: 'nonsense' }],
    ['an offer of payment', 402, '/chat/completions', { method: 'POST' }],
    ['the offer of a top-up', 402, '/x402/top-up', { method: 'POST' }],
    ['an unknown path', 404, '/nothing', {}],
    ['another method', 405, '/models', { method: 'DELETE' }],
    [
      'a large body',
      413,
      '/test/small',
      { method: 'POST', body: `{"a":"${'a'.repeat(99)}"}`, type: 'application/json' },
    ],
    ['a limit', 429, '/test/failing/rate_limited', {}],
    ['a mistake', 500, '/test/failing/broken', {}],
    ['an unavailable part', 503, '/test/failing/unavailable', {}],
  ])('reads %s (%i)', async (_name, status, path, { method, body, type, key }) => {
    const headers = { ...(type && { 'content-type': type }), ...(key && { authorization: `Bearer ${key}` }) };
    for (const base of ['/api/v1', '/v1']) {
      const response = await send(api, `${base}${path}`, { headers, ...(method && { method }), ...(body && { body }) });
      expect([response.status, response.headers.get(ALLOW)]).toEqual([status, '*']);
      expect(response.headers.get('access-control-allow-credentials')).toBeNull();
      const exposed = listOf(response, 'access-control-expose-headers');
      expect(exposed).toEqual(expect.arrayContaining(['payment-required', 'payment-response', 'x-request-id']));
    }
  });

  it('gets PAYMENT-REQUIRED with a 402', async () => {
    const response = await send(api, '/v1/chat/completions', { method: 'POST' });
    expect(response.headers.get('payment-required')).not.toBeNull();
  });
});

describe('the exposed headers', () => {
  /** Written in the sources, for headers of answers or of requests. */
  const REQUEST_HEADERS = ['x-service-dry-run', 'x-service-'];
  const NAMES = /'(x-(?:service|ratelimit|pagination|next|balance|request)-[a-z0-9-]*)'/gi;

  it('include every one that the description names, and every one of ours in the sources', async () => {
    const exposed = listOf(await send(api, '/v1/models'), 'access-control-expose-headers');
    const described = operationsOf(readDescription()).flatMap(({ operation }) =>
      Object.values(operation.responses).flatMap(({ headers = {} }) => Object.keys(headers)),
    );
    const written = filesWith((name) => name.endsWith('.ts'), ['api']).flatMap((name) =>
      [...readSource(name).matchAll(NAMES)].map(([, header = '']) => header),
    );
    const needed = [...new Set([...described, ...written].map((name) => name.toLowerCase()))];
    expect(needed.length).toBeGreaterThan(30);
    expect(needed.filter((name) => !exposed.includes(name) && !REQUEST_HEADERS.includes(name))).toEqual([]);
  });

  it("include those of the brand's aliases", async () => {
    const exposed = listOf(await send(api, '/v1/models'), 'access-control-expose-headers');
    expect(exposed).toEqual(expect.arrayContaining(['x-service-model-id', 'x-acme-model-id', 'x-acme-rpc-credits']));
  });
});

describe('a preflight', () => {
  const paths = [...new Set(ROUTES.map(({ path }) => path))];

  test.each(paths)('of %s names its methods, and needs no credential', async (path) => {
    const own = ROUTES.filter((route) => route.path === path);
    for (const base of ['/api/v1', '/v1']) {
      const response = await preflight(api, `${base}${path.replace(/\{\w+\}/g, 'x')}`);
      expect([response.status, response.headers.get(ALLOW), await response.text()]).toEqual([204, '*', '']);
      const methods = listOf(response, 'access-control-allow-methods');
      expect(methods).toEqual(expect.arrayContaining(own.map(({ method }) => method)));
      expect(methods).not.toContain('PUT');
    }
  });

  test.each([
    'authorization,content-type',
    'x-api-key, idempotency-key',
    'payment-signature,x-payment,sign-in-with-x,access-control-expose-headers',
    'x-service-dry-run,x-service-tee-client-pub-key',
    'anthropic-version,x-stainless-lang,x-stainless-os,x-stainless-retry-count',
    'prefer,cancel-after,if-none-match,last-event-id,range',
  ])('allows the headers %s', async (asked) => {
    const response = await preflight(api, '/v1/chat/completions', { 'access-control-request-headers': asked });
    expect(response.headers.get('access-control-allow-headers')).toBe(asked);
    expect(response.headers.get('access-control-max-age')).toBe('86400');
  });

  it('allows none of a list that is too long', async () => {
    const asked = 'x'.repeat(4_097);
    const response = await preflight(api, '/v1/chat/completions', { 'access-control-request-headers': asked });
    expect([response.status, response.headers.get('access-control-allow-headers')]).toEqual([204, null]);
  });

  it('of an unknown path gets 404, and an OPTIONS that is none 405', async () => {
    expect((await preflight(api, '/v1/nothing')).status).toBe(404);
    const other = await fetch(`${api.origin}/v1/models`, { method: 'OPTIONS' });
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'HEAD, GET']);
  });
});

describe('what is for operators', () => {
  test.each([
    '/metrics',
    '/healthz',
    '/readyz',
    '/openapi.json',
    '/docs',
    '/nothing',
    '/v1/operator/test',
    '/api/v1/operator/test',
  ])('%s says nothing to other origins', async (path) => {
    expect(corsHeadersOf(await send(api, path))).toEqual([]);
    const asked = await preflight(api, path, { 'access-control-request-method': 'GET' });
    expect([corsHeadersOf(asked), asked.status >= 400]).toEqual([[], true]);
  });
});

describe('with a list of origins', () => {
  const OTHER = { origin: 'https://other.example' };
  let narrow: TestApi;
  beforeAll(async () => {
    narrow = await start([PAGE, 'app://local']);
  });
  afterAll(() => narrow.stop());

  test.each([PAGE, 'app://local'])('%s is named in the answers to it', async (origin) => {
    const response = await send(narrow, '/v1/models', { headers: { origin } });
    expect([response.headers.get(ALLOW), response.headers.get('vary')]).toEqual([origin, 'Origin']);
    const asked = await preflight(narrow, '/v1/models', { origin });
    expect([asked.status, asked.headers.get(ALLOW)]).toEqual([204, origin]);
  });

  test.each([
    'https://other.example',
    'https://app.example.other',
    'http://app.example',
    'https://app.example:8443',
    'null',
  ])('%s is not allowed', async (origin) => {
    const response = await send(narrow, '/v1/models', { headers: { origin } });
    expect([corsHeadersOf(response), response.headers.get('vary')]).toEqual([[], 'Origin']);
    expect((await preflight(narrow, '/v1/models', { origin })).status).toBe(405);
  });

  it('answers vary by it beside what they vary by already', async () => {
    const init = { method: 'POST', body: '{}', headers: { ...OTHER, 'content-type': 'application/json' } };
    const response = await send(narrow, '/v1/test/small', init);
    expect([response.status, response.headers.get('vary')]).toEqual([200, 'Origin, Accept']);
  });
});

it('is off with an empty list', async () => {
  const off = await start([]);
  try {
    const response = await send(off, '/v1/models');
    expect([corsHeadersOf(response), response.headers.get('vary')]).toEqual([[], null]);
    expect((await preflight(off, '/v1/models')).status).toBe(405);
  } finally {
    await off.stop();
  }
});
