import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApi, type TestApi } from '../startApi.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

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

  it('says the same to HEAD, without a body', async () => {
    const response = await api.call('/billing/usage', { method: 'HEAD' });
    expect([response.status, await response.text(), response.headers.get('deprecation')]).toEqual([
      410,
      '',
      '@1783555200',
    ]);
  });
});
