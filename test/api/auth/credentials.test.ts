import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { revokeKey } from '../../../infra/postgres/keys.ts';
import { announced, twoHoursLater } from '../keys/keyClock.ts';
import { sendRaw } from '../sendRaw.ts';
import { startApi, type TestApi } from '../startApi.ts';

const ADMIN_ROUTE = '/billing/balance';
const ANY_KEY_ROUTE = '/jobs';

let api: TestApi;
let admin: string;
let inference: string;

beforeAll(async () => {
  api = await startApi();
  admin = (await api.newKey('ADMIN')).secret;
  inference = (await api.newKey('INFERENCE')).secret;
});
afterAll(() => api.stop());

interface Body {
  error?: string;
  code?: string;
  authOptions?: unknown;
  extensions?: { 'sign-in-with-x': { info: { nonce: string } } };
}

async function answer(path: string, headers: Record<string, string>) {
  const response = await api.call(path, { headers });
  return { status: response.status, body: (await response.json()) as Body, headers: response.headers };
}

describe('credentials and routes', () => {
  it.each([
    ['an ADMIN key opens an admin route', ADMIN_ROUTE, () => `Bearer ${admin}`, 200],
    ['an ADMIN key opens every other route', ANY_KEY_ROUTE, () => `Bearer ${admin}`, 200],
    ['an INFERENCE key opens an ordinary route', ANY_KEY_ROUTE, () => `Bearer ${inference}`, 200],
    ['the scheme is read in any case', ADMIN_ROUTE, () => `bearer ${admin}`, 200],
    ['an INFERENCE key does not open an admin route', ADMIN_ROUTE, () => `Bearer ${inference}`, 401],
    ['an unknown key opens nothing', ADMIN_ROUTE, () => `Bearer ${admin.slice(0, -4)}AAAA`, 401],
    ['a key of another shape opens nothing', ADMIN_ROUTE, () => 'Bearer sk-123', 401],
    ['an empty credential opens nothing', ADMIN_ROUTE, () => '', 401],
    ['another scheme opens nothing', ADMIN_ROUTE, () => 'Basic dTpw', 401],
    ['SQL in a key opens nothing', ADMIN_ROUTE, () => `Bearer ' or 1=1 --`, 401],
  ])('%s', async (_name, path, authorization, status) => {
    expect((await answer(path, { authorization: authorization() })).status).toBe(status);
  });

  it('words the refusals as documented', async () => {
    const bad = await answer(ADMIN_ROUTE, { authorization: 'Bearer nobody' });
    expect(bad.body).toEqual({ error: 'Authentication failed' });
    expect(bad.headers.get('www-authenticate')).toBe('Bearer');
    const wrongType = await answer(ADMIN_ROUTE, { authorization: `Bearer ${inference}` });
    expect(wrongType.body).toEqual({ error: 'Admin API key required' });
  });

  it('refuses an expired key, and one of a suspended account', async () => {
    const expired = await api.newKey('ADMIN', { expiresAt: new Date(Date.now() - 1_000) });
    expect((await answer(ADMIN_ROUTE, { authorization: `Bearer ${expired.secret}` })).status).toBe(401);
    const suspended = await api.newKey('ADMIN');
    expect((await answer(ADMIN_ROUTE, { authorization: `Bearer ${suspended.secret}` })).status).toBe(200);
    const { sql } = api.opened.dependencies.core;
    await sql.query(`update accounts set status = 'suspended' where id = $1`, [suspended.accountId]);
    await expect
      .poll(async () => (await answer(ADMIN_ROUTE, { authorization: `Bearer ${suspended.secret}` })).status)
      .toBe(401);
  });

  it('refuses a key that expires while it is cached', async () => {
    const key = await api.newKey('ADMIN', { expiresAt: new Date(Date.now() + 3_600_000) });
    const readStatuses = async (secret: string) => [(await api.call(ADMIN_ROUTE, { key: secret })).status];
    expect(await readStatuses(key.secret)).toEqual([200]);
    await twoHoursLater(api, readStatuses, async () => expect(await readStatuses(key.secret)).toEqual([401]));
  });
});

describe('without a credential', () => {
  it('answers 402 with the payment offers, also where only keys are accepted', async () => {
    const { status, body, headers } = await answer(`${ADMIN_ROUTE}?secret=1`, { host: 'evil.example' });
    expect(status).toBe(402);
    const { publicUrl } = api.opened.dependencies.core.config;
    expect(body).toMatchObject({
      x402Version: 2,
      error: 'Authentication required',
      resource: {
        url: `${publicUrl}/api/v1/billing/balance`,
        description: 'service API',
        mimeType: 'application/json',
      },
      accepts: [],
      authOptions: {
        apiKey: { header: expect.any(String), getKey: expect.any(String), docs: expect.any(String) },
        x402Wallet: {
          header: 'SIGN-IN-WITH-X',
          legacyHeader: 'X-Sign-In-With-X',
          topUp: `${publicUrl}/api/v1/x402/top-up`,
          docs: expect.any(String),
        },
      },
    });
    const { authOptions: _authOptions, ...offer } = body;
    const header = Buffer.from(headers.get('payment-required') ?? '', 'base64').toString();
    expect(JSON.parse(header)).toEqual(offer);
  });

  it('gives each challenge its own nonce', async () => {
    const nonces = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const { body } = await answer(ADMIN_ROUTE, {});
        return body.extensions?.['sign-in-with-x'].info.nonce;
      }),
    );
    expect(new Set(nonces).size).toBe(20);
  });
});

describe('more than one credential', () => {
  const key = () => `Authorization: Bearer ${admin}`;
  it.each([
    ['two Authorization headers', () => [key(), key()]],
    ['two, one of them empty', () => [key(), 'Authorization:']],
    ['two in one header', () => [`${key()}, Bearer ${admin}`]],
    ['a key and a sign-in', () => [key(), 'SIGN-IN-WITH-X: e30=']],
    ['a key and a legacy sign-in', () => [key(), 'X-Sign-In-With-X: e30=']],
    ['both sign-in headers', () => ['SIGN-IN-WITH-X: e30=', 'X-Sign-In-With-X: e30=']],
    ['the same sign-in header twice', () => ['SIGN-IN-WITH-X: e30=', 'sign-in-with-x: e30=']],
  ])('%s: 400', async (_name, headers) => {
    const lines = ['GET /api/v1/billing/balance HTTP/1.1', 'Host: x', 'Connection: close', ...headers(), '', ''];
    expect(await sendRaw(api.port, lines.join('\r\n'))).toMatch(/^HTTP\/1\.1 400 .*"error":/s);
  });

  it('refuses a sign-in alone with 401 while no wallet network is configured', async () => {
    for (const name of ['SIGN-IN-WITH-X', 'X-Sign-In-With-X']) {
      const { status, body } = await answer(ADMIN_ROUTE, { [name]: 'e30=' });
      expect({ status, body }).toEqual({ status: 401, body: { error: 'Authentication failed' } });
    }
  });

  it('refuses a payment outside the top-up route, with or without a key', async () => {
    for (const name of ['PAYMENT-SIGNATURE', 'X-402-Payment', 'X-PAYMENT']) {
      for (const more of [{}, { authorization: `Bearer ${admin}` }]) {
        const { status, body } = await answer(ADMIN_ROUTE, { [name]: 'e30=', ...more });
        expect({ status, code: body.code }).toEqual({ status: 400, code: 'PAYMENT_HEADER_NOT_ACCEPTED' });
      }
    }
  });
});

describe('cached keys', () => {
  it('takes effect at once in every process when a key is revoked', async () => {
    const other = await startApi({ environment: api.environment });
    try {
      for (let round = 0; round < 5; round += 1) {
        const { secret, keyId } = await api.newKey('ADMIN');
        const readStatuses = async (at: TestApi) => (await at.call(ADMIN_ROUTE, { key: secret })).status;
        expect([await readStatuses(api), await readStatuses(other)]).toEqual([200, 200]);
        await revokeKey(api.opened.dependencies.core.sql, keyId);
        await announced(() => readStatuses(other), 401);
        await announced(() => readStatuses(api), 401);
      }
    } finally {
      await other.stop();
    }
  });

  it('uses a revoked key for at most a second after the announcement connection is lost', async () => {
    const { sql } = api.opened.dependencies.core;
    const { secret, keyId } = await api.newKey('ADMIN');
    expect((await api.call(ADMIN_ROUTE, { key: secret })).status).toBe(200);
    const operator = new pg.Client({ connectionString: api.environment.DATABASE_URL });
    await operator.connect();
    const listening = `from pg_stat_activity
      where application_name = 'farebox-changes' and datname = current_database()`;
    const ended = await operator.query(`select pg_terminate_backend(pid), pid ${listening}`);
    const pids = ended.rows.map(({ pid }) => pid);
    await revokeKey(sql, keyId);
    await announced(async () => (await api.call(ADMIN_ROUTE, { key: secret })).status, 401, 1_001);
    const next = await api.newKey('ADMIN');
    const again = async () => (await operator.query(`select pid ${listening}`)).rows.map(({ pid }) => pid);
    await expect.poll(async () => (await again()).some((pid) => !pids.includes(pid))).toBe(true);
    await operator.end();
    expect((await api.call(ADMIN_ROUTE, { key: next.secret })).status).toBe(200);
    await revokeKey(sql, next.keyId);
    await announced(async () => (await api.call(ADMIN_ROUTE, { key: next.secret })).status, 401);
  });

  it('records the time of the last use without delaying the request', async () => {
    const { secret, keyId } = await api.newKey('ADMIN');
    const before = Date.now();
    await api.call(ADMIN_ROUTE, { key: secret });
    await api.opened.authentication.use.flush();
    const { rows } = await api.opened.dependencies.core.sql.query('select last_used_at from api_keys where id = $1', [
      keyId,
    ]);
    expect(rows[0].last_used_at.getTime()).toBeGreaterThanOrEqual(before);
  });

  it('stores no secret in the database or the log', async () => {
    const { rows } = await api.opened.dependencies.core.sql.query('select row_to_json(k)::text as key from api_keys k');
    const stored = rows.map(({ key }) => key).join();
    for (const secret of [admin, inference]) {
      const random = secret.slice(-43);
      expect(stored).not.toContain(random);
      expect(api.log.join()).not.toContain(random);
    }
  });
});
