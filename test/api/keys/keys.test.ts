/** The documented answers of the key routes, with exactly these fields. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { charge, grant, refund } from '../../../infra/postgres/ledger.ts';
import { SNAPSHOT } from '../../infra/postgres/ledgerWorld.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { ask, create, NOBODYS_ID } from './keyClient.ts';
import { announced } from './keyClock.ts';

let api: TestApi;
let admin: { secret: string; keyId: string; accountId: string };
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const UUID = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const NO_LIMITS = { usd: null, diem: null, vcu: null };
const NOTHING = { usd: '0.0000', diem: '0.0000' };

beforeAll(async () => {
  admin = await api.newKey('ADMIN', { description: 'boss' });
});

describe('POST /api_keys', () => {
  it('returns the secret once, and defaults for omitted fields', async () => {
    const { status, body } = await ask(api, 'POST /api_keys', {
      key: admin.secret,
      body: { apiKeyType: 'INFERENCE', description: '' },
    });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        success: true,
        data: {
          ...{ id: UUID, apiKey: expect.stringMatching(/^FAREBOX_INFERENCE_KEY_[\w-]{43}$/) },
          ...{ apiKeyType: 'INFERENCE', description: '', expiresAt: null, consumptionLimit: NO_LIMITS },
          ...{ limitPeriod: 'EPOCH', modelPrivacy: 'ALL' },
        },
      },
    });
    expect((await ask(api, 'GET /jobs', { key: body.data.apiKey })).status).toBe(200);
  });

  it('keeps every given field', async () => {
    const terms = {
      ...{ apiKeyType: 'ADMIN', description: '𝄞'.repeat(64), limitPeriod: 'LIFETIME' },
      ...{
        modelPrivacy: 'PRIVATE_TEXT',
        consumptionLimit: { usd: 9_999_999_999, diem: 0, vcu: 0.000000001 },
      },
    };
    const made = await create(api, admin.secret, { ...terms, expiresAt: '2199-02-28' });
    expect(made).toMatchObject({ ...terms, expiresAt: '2199-02-28T00:00:00.000Z' });
    const shown = (await ask(api, `GET /api_keys/${made.id}`, { key: admin.secret })).body.data;
    expect(shown).toMatchObject({
      consumptionLimits: terms.consumptionLimit,
      description: terms.description,
    });
    expect((await ask(api, 'GET /api_keys', { key: made.apiKey })).status).toBe(200);
  });

  it.each([
    ['2199-01-02T03:04:05Z', '2199-01-02T03:04:05.000Z'],
    ['2199-01-02T03:04:05.678Z', '2199-01-02T03:04:05.678Z'],
    ['9999-12-31', '9999-12-31T00:00:00.000Z'],
    ['2196-02-29', '2196-02-29T00:00:00.000Z'],
    ['', null],
  ])('expiry %j', async (expiresAt, shown) => {
    const { secret } = await api.newKey('ADMIN');
    expect(await create(api, secret, { expiresAt })).toMatchObject({ expiresAt: shown });
  });
});

describe('GET /api_keys', () => {
  it('lists keys that are neither revoked nor expired, newest first, with exactly these fields', async () => {
    const own = await api.newKey('ADMIN', { description: 'boss' });
    const plain = await create(api, own.secret, { description: 'plain' });
    const limited = await create(api, own.secret, { consumptionLimit: { diem: 1.5 }, limitPeriod: 'MONTH' });
    const revoked = await create(api, own.secret);
    await ask(api, `DELETE /api_keys?id=${revoked.id}`, { key: own.secret });
    await api.newKey('INFERENCE', { accountId: own.accountId, expiresAt: new Date(Date.now() - 1) });
    await api.newKey('INFERENCE');
    const common = { limitPeriod: 'EPOCH', modelPrivacy: 'ALL', createdAt: ISO, expiresAt: null };
    const usage = { trailingSevenDays: { ...NOTHING, vcu: '0.0000' } };
    const list = await ask<{ data: unknown[] }>(api, 'GET /api_keys', { key: own.secret });
    const { status, body } = list;
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        object: 'list',
        data: [
          {
            ...{ ...common, id: limited.id, apiKeyType: 'INFERENCE', description: 'a key', usage },
            ...{ consumptionLimits: { usd: null, diem: 1.5, vcu: null }, limitPeriod: 'MONTH' },
            ...{ lastUsedAt: null, last6Chars: limited.apiKey.slice(-6), currentPeriodUsage: NOTHING },
          },
          {
            ...{ ...common, id: plain.id, apiKeyType: 'INFERENCE', description: 'plain', usage },
            ...{ consumptionLimits: NO_LIMITS, lastUsedAt: null, last6Chars: plain.apiKey.slice(-6) },
          },
          {
            ...{ ...common, id: own.keyId, apiKeyType: 'ADMIN', description: 'boss', usage },
            ...{ consumptionLimits: NO_LIMITS, last6Chars: own.secret.slice(-6), lastUsedAt: null },
          },
        ],
      },
    });
    const shown = await ask(api, `GET /api_keys/${limited.id.toUpperCase()}`, { key: own.secret });
    expect([shown.status, shown.body]).toEqual([200, { data: body.data[0] }]);
  });

  it('shows the usage of the ledger less refunds, rounded half up to four decimals', async () => {
    const { sql } = api.opened.dependencies.core;
    const own = await api.newKey('ADMIN');
    const { accountId } = own;
    const funds = { accountId, currency: 'usd', amount: 9_000_000_000n, notes: 'test' } as const;
    await grant(sql, { ...funds, operationId: randomUUID() });
    await sql.query('update accounts set diem_daily_allocation = 2000000000 where id = $1', [accountId]);
    const limits = { consumptionLimit: { usd: 5 }, limitPeriod: 'LIFETIME' };
    const { id: keyId } = await create(api, own.secret, limits);
    const book = async (usd: bigint, diem: bigint) => {
      const operationId = randomUUID();
      const order = { operationId, accountId, keyId, price: { usd, diem }, snapshot: SNAPSHOT };
      expect(await charge(sql, order)).toMatchObject({ outcome: 'charged' });
      return operationId;
    };
    await book(1_000_049_999n, 0n);
    await book(0n, 250_050_000n);
    const wrong = await book(400_000_000n, 0n);
    await refund(sql, { operationId: `r-${wrong}`, chargeOperationId: wrong, reason: 'test' });
    await sql.query(
      `insert into key_days (key_id, day, usd_used) select $1, (now() at time zone 'UTC')::date - ago, amount
        from (values (6, 10000000), (7, 500000000)) as v (ago, amount)`,
      [keyId],
    );
    const { body } = await ask(api, `GET /api_keys/${keyId}`, { key: own.secret });
    expect(body.data).toMatchObject({
      usage: { trailingSevenDays: { usd: '1.0100', vcu: '0.0000', diem: '0.2501' } },
      currentPeriodUsage: { usd: '1.5100', diem: '0.2501' },
    });
  });
});

describe('PATCH /api_keys', () => {
  it('lets no expiring key extend its own life, but another ADMIN key may', async () => {
    const terms = { apiKeyType: 'ADMIN', expiresAt: '2199-02-28' };
    const own = await create(api, admin.secret, terms);
    const patch = async (key: string, expiresAt: string | null) => {
      return await ask(api, 'PATCH /api_keys', { key, body: { id: own.id, expiresAt } });
    };
    for (const later of [null, '2199-03-01']) {
      const { status, body } = await patch(own.apiKey, later);
      expect({ status, body }).toMatchObject({ status: 400, body: { error: expect.any(String) } });
      expect(JSON.stringify(body)).toContain('cannot extend its own life');
    }
    expect((await patch(own.apiKey, '2199-02-27')).status).toBe(200);
    expect((await patch(admin.secret, null)).status).toBe(200);
  });

  it('lets no expiring key make, extend or rotate an ADMIN key that outlives it', async () => {
    const ADMIN = { apiKeyType: 'ADMIN' };
    const ending = await create(api, admin.secret, { ...ADMIN, expiresAt: '2199-02-28' });
    const [lasting, short] = [
      await create(api, admin.secret, ADMIN),
      await create(api, admin.secret, { ...ADMIN, expiresAt: '2199-01-01' }),
    ];
    const act = async (route: string, body: object) => (await ask(api, route, { key: ending.apiKey, body })).status;
    const make = (terms: object) => act('POST /api_keys', { description: 'made by it', ...terms });
    expect(await make(ADMIN)).toBe(400);
    expect(await make({ ...ADMIN, expiresAt: '2199-03-01' })).toBe(400);
    expect(await act('PATCH /api_keys', { id: short.id, expiresAt: null })).toBe(400);
    expect(await act(`POST /api_keys/${lasting.id}/rotate`, {})).toBe(400);
    // The secret of the other key still works: nothing was rotated.
    expect((await ask(api, 'GET /api_keys', { key: lasting.apiKey })).status).toBe(200);
    expect(await make({ ...ADMIN, expiresAt: '2199-02-28' })).toBe(200);
    expect(await make({ apiKeyType: 'INFERENCE' })).toBe(200);
    expect(await act('PATCH /api_keys', { id: short.id, expiresAt: '2199-02-28' })).toBe(200);
    expect(await act('PATCH /api_keys', { id: lasting.id, description: 'renamed' })).toBe(200);
    expect(await act(`POST /api_keys/${short.id}/rotate`, {})).toBe(200);
    expect(await act(`POST /api_keys/${ending.id}/rotate`, {})).toBe(200);
  });

  it('changes the given fields alone, and removes the expiry for an empty string or null', async () => {
    const key = admin.secret;
    const made = await create(api, key, { expiresAt: '2199-01-01', consumptionLimit: { usd: 1, diem: 2 } });
    const before = (await ask(api, `GET /api_keys/${made.id}`, { key })).body.data;
    const { usage: _usage, currentPeriodUsage: _period, ...record } = before;
    const patch = async (change: Record<string, unknown>) => {
      const { status, body } = await ask(api, 'PATCH /api_keys', { key, body: { id: made.id, ...change } });
      return [status, body] as const;
    };
    const answer = (data: object) => [200, { success: true, data: { ...record, ...data } }];
    expect(await patch({})).toEqual(answer({}));
    expect(await patch({ description: 'new' })).toEqual(answer({ description: 'new' }));
    expect(await patch({ consumptionLimit: { usd: null, vcu: 7 } })).toEqual(
      answer({ description: 'new', consumptionLimits: { usd: null, diem: 2, vcu: 7 } }),
    );
    expect(
      await patch({
        ...{ limitPeriod: 'MONTH', modelPrivacy: 'PRIVATE_ONLY', description: 'a key', expiresAt: '' },
        consumptionLimit: { usd: 1, diem: 2, vcu: null },
      }),
    ).toEqual(answer({ limitPeriod: 'MONTH', modelPrivacy: 'PRIVATE_ONLY', expiresAt: null }));
    expect((await patch({ expiresAt: '2198-01-01T00:00:00Z' }))[1].data.expiresAt).toBe('2198-01-01T00:00:00.000Z');
    expect((await patch({ expiresAt: null }))[1].data.expiresAt).toBe(null);
  });

  it('sets limits that the ledger enforces, also the highest ones', async () => {
    const { sql } = api.opened.dependencies.core;
    const own = await api.newKey('ADMIN');
    const { accountId } = own;
    const funds = { accountId, currency: 'usd', amount: 9_000_000_000n, notes: 'test' } as const;
    await grant(sql, { ...funds, operationId: randomUUID() });
    const { id: keyId } = await create(api, own.secret, { consumptionLimit: { usd: 9_999_999_999 } });
    const pay = async () =>
      (
        await charge(sql, {
          ...{ operationId: randomUUID(), accountId, keyId, snapshot: SNAPSHOT },
          price: { usd: 1_000_000_000n, diem: 0n },
        })
      ).outcome;
    expect(await pay()).toBe('charged');
    const limit = (usd: number) =>
      ask(api, 'PATCH /api_keys', { key: own.secret, body: { id: keyId, consumptionLimit: { usd } } });
    expect((await limit(1.999999999)).body.data.consumptionLimits.usd).toBe(1.999999999);
    expect(await pay()).toBe('key_limit');
    expect((await limit(2)).status).toBe(200);
    expect(await pay()).toBe('charged');
    expect((await limit(9_999_999_998.5)).body.data.consumptionLimits.usd).toBe(9_999_999_998.5);
    expect(await pay()).toBe('charged');
  });
});

describe('DELETE /api_keys', () => {
  it.each([
    ['a query', (id: string) => ({ line: `DELETE /api_keys?id=${id}` })],
    ['a body', (id: string) => ({ line: 'DELETE /api_keys', body: { id } })],
  ])('with %s ends the key at once and permanently', async (_how, say) => {
    const made = await create(api, admin.secret);
    expect((await ask(api, 'GET /jobs', { key: made.apiKey })).status).toBe(200);
    const { line, body } = { body: undefined, ...say(made.id) };
    const remove = () => ask(api, line, { key: admin.secret, ...(body ? { body } : {}) });
    const first = await remove();
    expect([first.status, first.body]).toEqual([200, { success: true }]);
    const used = async () => (await ask(api, 'GET /jobs', { key: made.apiKey })).status;
    await announced(used, 401);
    const second = await remove();
    expect([second.status, second.body]).toEqual([400, { error: 'API key could not be found' }]);
  });
});

describe('an unavailable key', () => {
  const WORDS = [
    ['GET', (id: string) => ({ line: `GET /api_keys/${id}` }), 'API key not found'],
    ['PATCH', (id: string) => ({ line: 'PATCH /api_keys', body: { id } }), 'API key not found or expired'],
    ['DELETE', (id: string) => ({ line: `DELETE /api_keys?id=${id}` }), 'API key could not be found'],
    ['rotate', (id: string) => ({ line: `POST /api_keys/${id}/rotate` }), 'API key not found or expired'],
  ] as const;

  it.each(WORDS)('%s: unknown, malformed, foreign, revoked and expired get one answer', async (_name, say, error) => {
    const foreign = await api.newKey('INFERENCE');
    const { accountId } = admin;
    const expired = await api.newKey('INFERENCE', { accountId, expiresAt: new Date(Date.now() - 1) });
    const revoked = await create(api, admin.secret);
    await ask(api, `DELETE /api_keys?id=${revoked.id}`, { key: admin.secret });
    for (const id of [NOBODYS_ID, 'x', '%00', "1'--", foreign.keyId, expired.keyId, revoked.id]) {
      const { line, body } = { body: undefined, ...say(id) };
      const reply = await ask(api, line, { key: admin.secret, ...(body ? { body } : {}) });
      expect([id, reply.status, reply.body]).toEqual([id, 400, { error }]);
    }
    expect((await ask(api, 'GET /jobs', { key: foreign.secret })).status).toBe(200);
  });
});

describe('an INFERENCE key', () => {
  it.each([
    'GET /api_keys',
    'POST /api_keys',
    'PATCH /api_keys',
    'DELETE /api_keys',
    `GET /api_keys/${NOBODYS_ID}`,
    `POST /api_keys/${NOBODYS_ID}/rotate`,
    'GET /audit',
  ])('may not %s', async (line) => {
    const { secret } = await api.newKey('INFERENCE');
    const { status, body } = await ask(api, line, { key: secret });
    expect([status, body]).toEqual([401, { error: 'Admin API key required' }]);
  });
});
