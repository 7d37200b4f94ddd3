/** Headers of the limits on every answer, and the failures that count (LIMIT-7 to LIMIT-10). */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { binary, json } from '../../../api/http/answer.ts';
import { defineRoute, type Route } from '../../../api/http/route.ts';
import { ROUTES } from '../../../api/routes.ts';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import type { Config } from '../../../infra/config/config.ts';
import { contentTypeOf, pathOf } from '../funds/firstBytes.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { call, MODELS } from './limitsWorld.ts';

const REQUESTS = ['limit', 'remaining', 'reset'].map((word) => `x-ratelimit-${word}-requests`);
const TOKENS = ['limit', 'remaining', 'reset'].map((word) => `x-ratelimit-${word}-tokens`);
const BUDGET = ['x-ratelimit-remaining', 'x-ratelimit-resets'];

/** Account whose keys may fail three times in 30 s. */
const strict = randomUUID();
const config = (loaded: Config): Config => ({
  ...loaded,
  limits: { ...loaded.limits, overrides: { [strict]: { failedPer30s: 3 } } },
  models: [...loaded.models, ...MODELS],
  modelCatalogue: createCatalogue([...loaded.models, ...MODELS]),
});
const plainRoute = defineRoute({ method: 'GET', path: '/test/plain', access: 'key', handler: async () => json({}) });
const lostRoute = defineRoute({
  method: 'GET',
  path: '/test/lost',
  access: 'key',
  async handler() {
    async function* pieces(): AsyncGenerator<Buffer> {
      yield Promise.reject(new Error('the storage is away'));
    }
    return binary({ stream: Readable.from(pieces()), contentType: 'video/mp4', sizeBytes: 10 });
  },
});

let api: TestApi;
beforeAll(async () => {
  api = await startApi({ routes: [call('/test/call'), plainRoute, lostRoute], config, budgets: 'published' });
  await api.opened.dependencies.core.sql.query(`insert into accounts (id, name) values ($1, 'test')`, [strict]);
});
afterAll(() => api.stop());

function limitHeaders({ headers }: Response): string[] {
  return [...headers.keys()].filter((name) => name.startsWith('x-ratelimit-')).sort();
}

const sorted = (...names: string[][]) => names.flat().sort();

/** Sends a request without valid fields, to the end of the answer's head. */
async function ask(route: Route, key: string): Promise<Response> {
  const body = route.body && !route.body.optional ? '{}' : null;
  const headers = body === null ? {} : { 'content-type': contentTypeOf(route) };
  const response = await api.call(pathOf(route), { method: route.method, key, headers, body });
  await response.body?.cancel();
  return response;
}

const post = (path: string, key: string, body: string, headers: Record<string, string> = {}) =>
  api.call(path, { method: 'POST', key, body, headers: { 'content-type': 'application/json', ...headers } });

const isRpc = ({ ownWindows }: Route) => ownWindows !== undefined;
const ofKeys = ROUTES.filter(({ access, readsKey }) => readsKey || (access !== 'open' && access !== 'own-wallet'));
const titled = (routes: readonly Route[]) => routes.map((route) => [`${route.method} ${route.path}`, route] as const);

describe('an answer to a known key', () => {
  it.each(titled(ofKeys))('has the headers of its window of requests: %s', async (_name, route) => {
    for (const { secret } of [await api.newKey('ADMIN'), await api.fundedKey('ADMIN')]) {
      const response = await ask(route, secret);
      expect(limitHeaders(response)).toEqual(sorted(REQUESTS, isRpc(route) ? [] : BUDGET));
      const [limit, remaining, reset] = REQUESTS.map((name) => Number(response.headers.get(name)));
      expect(remaining).toBeLessThanOrEqual(limit ?? 0);
      expect((reset ?? 0) * 1_000 - Date.now()).toBeLessThanOrEqual(62_000);
    }
  });

  it('has those of tokens as well for a model with such a limit', async () => {
    const { secret } = await api.newKey('ADMIN');
    const text = await post('/test/call', secret, JSON.stringify({ model: 'tiny' }));
    expect(limitHeaders(text)).toEqual(sorted(REQUESTS, TOKENS, BUDGET));
    const picture = await post('/test/call', secret, JSON.stringify({ model: 'painter' }));
    expect(limitHeaders(picture)).toEqual(sorted(REQUESTS, BUDGET));
    expect(picture.headers.get('x-ratelimit-limit-requests')).toBe('20');
  });

  it('tells the same window to all routes that share it', async () => {
    const { secret: key } = await api.newKey('ADMIN');
    const remaining: (string | null)[] = [];
    for (const path of ['/models', '/billing/balance', '/api_keys', '/billing/usage']) {
      const { headers } = await api.call(path, { key });
      expect(headers.get('x-ratelimit-limit-requests')).toBe('1200');
      remaining.push(headers.get('x-ratelimit-remaining-requests'));
    }
    expect(remaining).toEqual(['1199', '1198', '1197', '1196']);
  });

  it.each(['INFERENCE', 'ADMIN'] as const)(
    'has them in a 401 for the kind of the key, and in a 402: %s',
    async (kind) => {
      const { secret: key } = await api.newKey(kind);
      const keys = await post('/api_keys', key, '{}');
      expect([keys.status, limitHeaders(keys)]).toEqual([kind === 'ADMIN' ? 400 : 401, sorted(REQUESTS, BUDGET)]);
      const unfunded = await post('/augment/scrape', key, '{}');
      expect([unfunded.status, limitHeaders(unfunded)]).toEqual([402, sorted(REQUESTS, BUDGET)]);
    },
  );

  it('has those of JSON-RPC, which are counted by a request that has funds', async () => {
    const { secret: poor } = await api.newKey('ADMIN');
    const { secret: rich } = await api.fundedKey('ADMIN');
    const path = '/crypto/rpc/ethereum-mainnet';
    const told: unknown[] = [];
    for (const [key, body] of [
      [poor, '{}'],
      [rich, '{}'],
      [rich, `"${'x'.repeat(1_100_000)}"`],
      [rich, '{"'],
    ] as const) {
      const response = await post(path, key, body);
      await response.body?.cancel();
      expect(limitHeaders(response)).toEqual(REQUESTS.toSorted());
      told.push([response.status, ...REQUESTS.slice(0, 2).map((name) => response.headers.get(name))]);
    }
    expect(told).toEqual([
      [402, '100', '100'],
      [400, '100', '99'],
      [413, '100', '99'],
      [400, '100', '98'],
    ]);
  });
});

describe('an answer without a known key', () => {
  const open = ROUTES.filter(({ access, readsKey, closed }) => access === 'open' && !readsKey && !closed);

  it.each(titled(open))('has no limit headers on an open route: %s', async (_name, route) => {
    const { secret } = await api.newKey('ADMIN');
    expect(limitHeaders(await ask(route, secret))).toEqual([]);
  });

  it.each(['/billing/usage', '/models', '/nothing'])(
    'has none for an unknown key and without one: %s',
    async (path) => {
      for (const key of ['nonsense', `fb_${'x'.repeat(40)}`, undefined]) {
        const response = await api.call(path, key === undefined ? {} : { key });
        await response.body?.cancel();
        expect(limitHeaders(response)).toEqual([]);
      }
    },
  );
});

describe('the failure budget of a key', () => {
  const FAILURES: [string, number, (key: string) => Promise<Response>][] = [
    ['invalid JSON', 400, (key) => post('/test/call', key, '{"model": tiny}')],
    ['a wrong content type', 400, (key) => post('/test/call', key, 'x', { 'content-type': 'text/plain' })],
    [
      'a body that is too large',
      413,
      (key) => post('/test/call', key, JSON.stringify({ model: 'film', tokens: 1, end: 'x'.repeat(20_000) })),
    ],
    ['an invalid field', 400, (key) => post('/test/call', key, '{"model":"film","nothing":true}')],
    ['missing funds', 402, (key) => post('/augment/scrape', key, '{}')],
    ['a retired route', 410, (key) => api.call('/billing/usage', { key })],
    ['an output that cannot be read', 503, (key) => api.call('/test/lost', { key })],
    ['a character that does not exist', 404, (key) => api.call('/characters/nothing', { key })],
  ];

  it.each(FAILURES)('counts %s', async (_name, status, send) => {
    const { secret } = await api.newKey('ADMIN');
    for (const remaining of ['49', '48']) {
      const response = await send(secret);
      await response.body?.cancel();
      expect([response.status, response.headers.get('x-ratelimit-remaining')]).toEqual([status, remaining]);
    }
  });

  it.each(FAILURES)('refuses the next request after as many times %s', async (_name, status, send) => {
    const { secret } = await api.newKey('ADMIN', { accountId: strict });
    const statuses: number[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      const response = await send(secret);
      await response.body?.cancel();
      statuses.push(response.status);
      if (turn === 3) expect(limitHeaders(response)).toEqual(BUDGET);
    }
    expect(statuses).toEqual([status, status, status, 429]);
  });

  it('counts no 429', async () => {
    const { secret: key } = await api.newKey('ADMIN');
    const busy = () => post('/test/call', key, '{"model":"film","end":"busy"}');
    const remaining = [await busy(), await busy()].map(({ headers }) => headers.get('x-ratelimit-remaining'));
    expect(remaining).toEqual(['50', '50']);
  });
});

describe('the cost of the limits', () => {
  async function commandsOf(
    send: () => Promise<Response>,
  ): Promise<{ status: number; admit: number; correct: number }> {
    const { limiter } = api.opened.dependencies.limits.calls;
    const { admit, correct } = limiter;
    const asked = { admit: 0, correct: 0 };
    limiter.admit = (...given) => {
      asked.admit += 1;
      return admit(...given);
    };
    limiter.correct = (...given) => {
      asked.correct += 1;
      return correct(...given);
    };
    try {
      const response = await send();
      await response.body?.cancel();
      return { status: response.status, ...asked };
    } finally {
      Object.assign(limiter, { admit, correct });
    }
  }

  it.each<[string, number, number, (key: string) => Promise<Response>]>([
    ['a route without a model', 200, 0, (key) => api.call('/test/plain', { key })],
    ['a model', 200, 0, (key) => post('/test/call', key, '{"model":"film"}')],
    ['a failure', 400, 1, (key) => post('/test/call', key, '{"model":"film","nothing":true}')],
    ['invalid JSON', 400, 1, (key) => post('/test/call', key, '{')],
    ['a retired route', 410, 1, (key) => api.call('/billing/usage', { key })],
  ])('is one command to Redis, and one more for a failure: %s', async (_name, status, correct, send) => {
    const { secret } = await api.newKey('ADMIN');
    expect(await commandsOf(() => send(secret))).toEqual({ status, admit: 1, correct });
  });
});
