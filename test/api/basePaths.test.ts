/** Both base paths of the API: the same routes, and addresses that are valid below each. */
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { ROUTES } from '../../api/routes.ts';
import { startApi, type TestApi } from './startApi.ts';
import { newWallet, welcomeWallets } from './wallets/walletWorld.ts';

let api: TestApi;
let key: string;

beforeAll(async () => {
  api = await startApi();
  welcomeWallets(api);
  key = (await api.newKey('ADMIN')).secret;
});
afterAll(() => api.stop());

async function answerOf(base: string, { method, path }: { method: string; path: string }) {
  const place = path.replace(/\{\w+\}/g, 'unknown');
  const response = await fetch(`${api.origin}${base}${place}`, { method });
  const body = (await response.json()) as { resource?: { url: string } };
  return { status: response.status, error: 'error' in body && body.error, url: body.resource?.url };
}

describe('each route', () => {
  test.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s has both',
    async (_, route) => {
      const [usual, short] = await Promise.all(['/api/v1', '/v1'].map((base) => answerOf(base, route)));
      // The offer of a top-up names the top-up by its usual address.
      const url = route.path === '/x402/top-up' ? usual?.url : usual?.url?.replace('/api/v1/', '/v1/');
      expect(short).toEqual({ ...usual, url });
      expect(usual?.error).not.toBe('The requested resource does not exist.');
    },
  );

  test.each(['/v2/models', '/api/models', '/api/v1', '/v1', '/v1/v1/models', '/api/v1/v1/models', '/V1/models'])(
    '%s is no route',
    async (path) => {
      expect((await fetch(`${api.origin}${path}`)).status).toBe(404);
    },
  );
});

describe('the short base path', () => {
  it('does not redirect, and names the allowed methods of a route', async () => {
    const listed = await fetch(`${api.origin}/v1/models`, {
      redirect: 'manual',
      headers: { authorization: `Bearer ${key}` },
    });
    expect(listed.status).toBe(200);
    const refused = await fetch(`${api.origin}/v1/models`, { method: 'POST' });
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'HEAD, GET']);
  });

  it('decodes the parameters of a path', async () => {
    const { secret, keyId } = await api.newKey('ADMIN');
    const headers = { authorization: `Bearer ${secret}` };
    const path = `/v1/api_keys/${keyId.replaceAll('-', '%2D')}`;
    expect((await fetch(`${api.origin}${path}`, { headers })).status).toBe(200);
  });

  it('serves the client of OpenAI', async () => {
    const client = new OpenAI({ apiKey: key, baseURL: `${api.origin}/v1` });
    expect((await client.models.list()).data.length).toBeGreaterThan(0);
  });

  it('takes a sign-in that was offered below the other one', async () => {
    const wallet = await newWallet(api);
    const path = `/v1/x402/balance/${wallet.account.address}`;
    const answer = await fetch(`${api.origin}${path}`, { headers: { 'sign-in-with-x': await wallet.header() } });
    expect(answer.status).toBe(200);
  });
});
