import http from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pingRedis } from '../../../infra/redis/connect.ts';
import { startApi, type TestApi } from '../startApi.ts';

let api: TestApi;
let other: TestApi;
beforeAll(async () => {
  api = await startApi();
  other = await startApi({ environment: api.environment });
  // Each process counts for itself until Redis answers.
  for (const { opened } of [api, other]) await pingRedis(opened.dependencies.core.redis, 10_000);
});
afterAll(async () => {
  await other?.stop();
  await api?.stop();
});

describe('GET /billing/usage', () => {
  it.each<[string, Record<string, string>]>([
    ['', {}],
    ['?limit=10&page=2&startDate=x&startDate=y&__proto__=1', {}],
    ['', { authorization: 'Bearer nonsense' }],
    ['', { authorization: 'Bearer nonsense', 'sign-in-with-x': 'also', 'payment-signature': 'too' }],
    ['?a=%zz', { accept: 'text/csv' }],
  ])('%s is gone for everyone and names its replacement', async (query, headers) => {
    const response = await api.call(`/billing/usage${query}`, { headers });
    expect([response.status, await response.json()]).toEqual([
      410,
      { error: expect.stringContaining('GET /billing/usage-history') },
    ]);
    expect(response.headers.get('deprecation')).toBe('@1783555200');
    expect(response.headers.get('sunset')).toBe('Wed, 16 Sep 2026 00:00:00 GMT');
    expect(response.headers.get('link')).toMatch(
      /^<\/api\/v1\/billing\/usage-history>; rel="successor-version", <[^>]+\/docs>; rel="deprecation"; type="text\/html"$/,
    );
  });

  it('answers HEAD with the same status and headers, without a body', async () => {
    const response = await api.call('/billing/usage', { method: 'HEAD' });
    expect([response.status, await response.text(), response.headers.get('deprecation')]).toEqual([
      410,
      '',
      '@1783555200',
    ]);
  });

  it('answers each address 60 times a minute over all processes, whatever its forwarding headers say', async () => {
    const statuses: number[] = [];
    for (let turn = 0; turn < 62; turn += 1) statuses.push((await askFrom('127.0.0.2', turn)).status);
    expect(statuses).toEqual([...Array.from({ length: 60 }, () => 410), 429, 429]);
    const refused = await askFrom('127.0.0.2', 0);
    const words = 'Rate limit exceeded: at most 60 requests per minute from one address.';
    expect([refused.status, JSON.parse(refused.text)]).toEqual([429, { error: words, customMessage: words }]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50);
    expect((await askFrom('127.0.0.3', 1)).status).toBe(410);
  });
});

interface Answered {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

/** Alternates between both processes. The headers claim other addresses. */
function askFrom(localAddress: string, turn: number): Promise<Answered> {
  const { origin } = turn % 2 === 0 ? api : other;
  const headers = { 'x-forwarded-for': `198.51.100.${turn}`, forwarded: `for=198.51.100.${turn}` };
  return new Promise((resolve, reject) => {
    const request = http.get(`${origin}/api/v1/billing/usage`, { localAddress, headers, agent: false });
    request.once('error', reject);
    request.once('response', async (response) => {
      const text = Buffer.concat(await response.toArray()).toString();
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
    });
  });
}
