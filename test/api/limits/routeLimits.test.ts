/** Account limits beside the model limits: requests to all other routes, and calls in flight. */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { json, stream } from '../../../api/http/answer.ts';
import { defineRoute } from '../../../api/http/route.ts';
import { ROUTES } from '../../../api/routes.ts';
import { JOBS_PER_MINUTE, requestsOf } from '../../../domain/limits/limits.ts';
import type { Config } from '../../../infra/config/config.ts';
import { grant } from '../../../infra/postgres/ledger.ts';
import type { LimitedCall } from '../../../infra/redis/limiter.ts';
import { contentTypeOf, pathOf } from '../funds/firstBytes.ts';
import { startApi, type TestApi } from '../startApi.ts';

const plainRoutes = ['/test/one', '/test/two'].map((path) =>
  defineRoute({ method: 'GET', path, access: 'caller', handler: async () => json({}) }),
);

function openGate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** The calls in flight wait for this gate. */
let gate = openGate();
let waiting = 0;
const waitRoute = defineRoute({
  method: 'POST',
  path: '/test/wait',
  access: 'caller',
  async handler() {
    waiting += 1;
    await gate.opened;
    return json({});
  },
});
const streamRoute = defineRoute({
  method: 'POST',
  path: '/test/stream',
  access: 'caller',
  async handler() {
    waiting += 1;
    async function* pieces() {
      yield 'first';
      await gate.opened;
      yield 'last';
    }
    return stream({ stream: Readable.from(pieces()), contentType: 'text/plain' });
  },
});

const slow = randomUUID();
const wide = randomUUID();
const busy = { '/test/wait': randomUUID(), '/test/stream': randomUUID() };
let api: TestApi;
beforeAll(async () => {
  api = await startApi({
    routes: [...plainRoutes, waitRoute, streamRoute],
    budgets: 'published',
    config: (loaded: Config) => ({
      ...loaded,
      limits: {
        ...loaded.limits,
        overrides: {
          [slow]: { requestsPerMinute: 5 },
          [wide]: { failedPer30s: 10_000 },
          [busy['/test/wait']]: { callsInFlight: 3 },
          [busy['/test/stream']]: { callsInFlight: 3 },
        },
      },
    }),
  });
  for (const id of [slow, wide, ...Object.values(busy)]) {
    await api.opened.dependencies.core.sql.query(`insert into accounts (id, name) values ($1, 'test')`, [id]);
  }
});
afterAll(() => api.stop());

const keyOf = async (accountId?: string) => (await api.newKey('ADMIN', accountId ? { accountId } : {})).secret;

describe('requests of routes without a model', () => {
  it('are limited to 1,200 a minute per account, over all such routes', async () => {
    const { secret: key, accountId } = await api.newKey('ADMIN');
    const statuses: number[] = [];
    let left = 1_210;
    const lane = async () => {
      while (left > 0) {
        left -= 1;
        statuses.push((await api.call(left % 2 ? '/test/one' : '/test/two', { key })).status);
      }
    };
    await Promise.all(Array.from({ length: 16 }, lane));
    expect(statuses.filter((status) => status === 200)).toHaveLength(1_200);
    const refused = await api.call('/test/one', { key });
    const words = 'Rate limit exceeded: at most 1200 requests per minute to all routes without a model.';
    expect(await refused.json()).toEqual({ error: words, customMessage: words });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('x-ratelimit-limit-requests')).toBe('1200');
    expect(await api.opened.dependencies.limits.calls.limiter.refusals(accountId)).toMatchObject(
      Array.from({ length: 11 }, () => ({ rateLimitType: 'RPM' })),
    );
  });

  it('follow requestsPerMinute of an override', async () => {
    const key = await keyOf(slow);
    for (let turn = 0; turn < 5; turn += 1) expect((await api.call('/test/one', { key })).status).toBe(200);
    expect((await api.call('/test/two', { key })).status).toBe(429);
  });

  it('are limited to 60,000 for job routes, which no override lowers', () => {
    expect(requestsOf('jobs', {})).toBe(60_000);
    expect(requestsOf('jobs', { requestsPerMinute: 7 })).toBe(60_000);
    expect(requestsOf('jobs', { requestsPerMinute: 70_000 })).toBe(70_000);
  });
});

describe('every route with a credential', () => {
  const limited = ROUTES.filter(({ access }) => access !== 'open' && access !== 'own-wallet');
  const ABOUT_JOBS = [
    ...['/jobs/{queue_id}', '/jobs/{queue_id}/events', '/jobs/{queue_id}/cancel'],
    ...['/audio/retrieve', '/audio/complete', '/audio/voice-changer/retrieve', '/audio/voice-changer/complete'],
    ...['/video/retrieve', '/video/complete'],
  ];

  it.each(limited.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s has a rate-limit window, checked in one query',
    async (_name, route) => {
      const {
        core: { sql },
        limits: { calls: limits },
      } = api.opened.dependencies;
      const credit = { operationId: randomUUID(), accountId: wide, amount: 10n ** 12n, notes: 'test' };
      await grant(sql, { ...credit, currency: 'usd' });
      const key = await keyOf(wide);
      const asked: LimitedCall[] = [];
      const { admit } = limits.limiter;
      limits.limiter.admit = (call, tokens) => {
        asked.push(call);
        return admit(call, tokens);
      };
      try {
        const body = route.body && !route.body.optional ? '{}' : null;
        const headers = body === null ? {} : { 'content-type': contentTypeOf(route) };
        const response = await api.call(pathOf(route), { method: route.method, key, headers, body });
        await response.body?.cancel();
      } finally {
        limits.limiter.admit = admit;
      }
      const windows = asked.flatMap(({ counters }) => counters).filter(({ windowMs }) => windowMs === 60_000);
      expect(windows.length).toBeGreaterThan(0);
      if (!route.path.startsWith('/augment/')) expect(asked).toHaveLength(1);
      if (ABOUT_JOBS.includes(route.path)) expect(windows[0]?.limit).toBe(JOBS_PER_MINUTE);
    },
  );
});

describe('calls in flight', () => {
  it.each(['/test/wait', '/test/stream'] as const)(
    'of an account are limited on %s, and other accounts are not affected',
    async (path) => {
      gate = openGate();
      waiting = 0;
      const accountId = busy[path];
      const [key, other] = [await keyOf(accountId), await keyOf()];
      const post = (credential: string) => api.call(path, { method: 'POST', key: credential });
      const calls = [post(key), post(key), post(key)];
      await vi.waitFor(() => expect(waiting).toBe(3), { timeout: 180_000 });
      const refused = await post(key);
      const words = 'Rate limit exceeded: at most 3 requests at a time for this account.';
      expect([refused.status, await refused.json()]).toEqual([429, { error: words, customMessage: words }]);
      expect(refused.headers.get('retry-after')).toBe('1');
      // The refused call counts in no window.
      expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('1197');
      expect(refused.headers.get('x-ratelimit-limit-requests')).toBe('1200');
      const { limiter } = api.opened.dependencies.limits.calls;
      expect(await limiter.refusals(accountId)).toMatchObject([{ rateLimitType: 'CALLS_IN_FLIGHT' }]);
      const others = post(other);
      await vi.waitFor(() => expect(waiting).toBe(4), { timeout: 180_000 });
      gate.open();
      for (const answered of await Promise.all([...calls, others])) {
        expect(answered.status).toBe(200);
        await answered.text();
      }
      await vi.waitFor(async () => expect((await post(key)).status).toBe(200), { timeout: 180_000 });
    },
  );
});

it('GET /api_keys/rate_limits lists all account limits', async () => {
  const list = async (key: string) => {
    const response = await api.call('/api_keys/rate_limits', { key });
    return ((await response.json()) as { data: { accountRateLimits: unknown } }).data.accountRateLimits;
  };
  expect(await list(await keyOf())).toEqual([
    { scope: 'routes without a model', amount: 1_200, type: 'RPM' },
    { scope: 'jobs', amount: 60_000, type: 'RPM' },
    { scope: 'requests in flight', amount: 2_000, type: 'CALLS_IN_FLIGHT' },
    { scope: 'bytes of uploads and fetched media', amount: 1_000_000_000, type: 'FETCHED_BYTES' },
    { scope: 'bytes of fetched media in memory', amount: 134_217_728, type: 'FETCHED_BYTES' },
    { scope: 'recordings and videos decoded at a time', amount: 1, type: 'SLOTS' },
    { scope: 'documents read at a time', amount: 1, type: 'SLOTS' },
    { scope: 'pictures inspected at a time', amount: 1, type: 'SLOTS' },
    { scope: 'pages fetched at a time', amount: 8, type: 'SLOTS' },
    { scope: 'pages converted at a time', amount: 1, type: 'SLOTS' },
    { scope: 'pictures made or changed at a time', amount: 1, type: 'SLOTS' },
    { scope: 'voices cloned', amount: 10, type: 'RPD' },
  ]);
  expect(await list(await keyOf(busy['/test/wait']))).toContainEqual({
    ...{ scope: 'requests in flight', amount: 3, type: 'CALLS_IN_FLIGHT' },
  });
});
