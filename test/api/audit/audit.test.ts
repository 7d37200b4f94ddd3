/** The audit trail: exactly the acts, their actors and their order, never changed afterwards. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeKey } from '../../../infra/postgres/keyAdministration.ts';
import { ask, create, INFERENCE } from '../keys/keyClient.ts';
import { startApi, type TestApi } from '../startApi.ts';

let api: TestApi;
let owner: pg.Pool;
beforeAll(async () => {
  api = await startApi();
  owner = new pg.Pool({ connectionString: api.environment.DATABASE_URL, max: 1 });
});
afterAll(async () => {
  await owner.end();
  await api.stop();
});

interface Trail {
  data: { id: string; action: string; targetId: string; requestId: string | null; changes: object }[];
  nextCursor: string | null;
}

const trail = (key: string, query = '') => ask<Trail>(api, `GET /audit${query}`, { key });

async function actions(key: string): Promise<string[]> {
  return (await trail(key)).body.data.map(({ action }) => action);
}

describe('GET /audit', () => {
  it('has every act with actor, action and time, newest first, and no secret', async () => {
    const { secret, keyId, accountId } = await api.newKey('ADMIN');
    const requestIds: (string | null)[] = [];
    const act = async (line: string, body?: unknown) => {
      const reply = await ask(api, line, { key: secret, body });
      expect(reply.status).toBe(200);
      requestIds.push(reply.headers.get('x-request-id'));
      return reply.body.data;
    };
    const { id, apiKey } = await act('POST /api_keys', { ...INFERENCE, consumptionLimit: { usd: 0.1 } });
    await act('PATCH /api_keys', { id, description: 'new', consumptionLimit: { usd: 0.25, diem: null } });
    const rotated = await act(`POST /api_keys/${id}/rotate`, { overlapSeconds: 60 });
    await act(`DELETE /api_keys?id=${id}`);
    const { status, body } = await trail(secret);
    const event = (index: number, action: string, changes: object) => ({
      ...{ id: expect.stringMatching(/^\d+$/), createdAt: expect.stringMatching(/^20\d\d-.*\.\d{3}Z$/) },
      ...{ actor: keyId, action, targetId: id, requestId: requestIds[index], changes },
    });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        object: 'list',
        data: [
          event(3, 'key.revoke', { revokedAt: expect.any(String) }),
          event(2, 'key.rotate', { overlapSeconds: 60, previousWorksUntil: rotated.previousKeyExpiresAt }),
          event(1, 'key.update', {
            description: { from: 'a key', to: 'new' },
            'consumptionLimit.usd': { from: '0.1', to: '0.25' },
          }),
          event(0, 'key.create', {
            ...{ apiKeyType: 'INFERENCE', description: 'a key', expiresAt: null, models: null },
            ...{ limitPeriod: 'EPOCH', modelPrivacy: 'ALL', 'consumptionLimit.usd': '0.1' },
            ...{ 'consumptionLimit.diem': null, 'consumptionLimit.vcu': null },
          }),
        ],
        nextCursor: null,
      },
    });
    const text = JSON.stringify(body);
    for (const each of [apiKey, rotated.apiKey, secret]) expect(text).not.toContain(each.slice(-43));
    await makeKey(api.opened.dependencies.core.sql, 'operator', { accountId, keyType: 'ADMIN' });
    expect((await trail(secret)).body.data[0]).toMatchObject({ actor: 'operator', requestId: null });
  });

  it('has no entry for acts that were refused or changed nothing', async () => {
    const { secret } = await api.newKey('ADMIN');
    const made = await create(api, secret);
    const body = { id: made.id, description: 'a key', consumptionLimit: { usd: null } };
    expect((await ask(api, 'PATCH /api_keys', { key: secret, body })).status).toBe(200);
    await ask(api, 'PATCH /api_keys', { key: secret, body: { id: randomUUID(), description: 'x' } });
    await ask(api, 'POST /api_keys', { key: secret, body: {} });
    await ask(api, 'DELETE /api_keys?id=x', { key: secret });
    await ask(api, `POST /api_keys/${randomUUID()}/rotate`, { key: secret });
    expect(await actions(secret)).toEqual(['key.create']);
  });

  it('shows an account only its own acts', async () => {
    const { secret } = await api.newKey('ADMIN');
    await create(api, (await api.newKey('ADMIN')).secret);
    expect(await actions(secret)).toEqual([]);
  });

  it('pages without a gap or a repetition while new acts arrive', async () => {
    const { secret } = await api.newKey('ADMIN');
    for (let index = 0; index < 5; index += 1) await create(api, secret, { description: `${index}` });
    const all = (await trail(secret)).body.data.map(({ id }) => id);
    const seen: string[] = [];
    let query = '?limit=2';
    for (let page = 0; page < 3; page += 1) {
      const { data, nextCursor } = (await trail(secret, query)).body;
      seen.push(...data.map(({ id }) => id));
      expect(nextCursor === null).toBe(page === 2);
      query = `?limit=2&cursor=${nextCursor}`;
      await create(api, secret);
    }
    expect(seen).toEqual(all);
  });

  it('refuses foreign cursors', async () => {
    const { secret } = await api.newKey('ADMIN');
    await Promise.all([create(api, secret), create(api, secret)]);
    const cursor = (await trail(secret, '?limit=1')).body.nextCursor ?? '';
    expect((await trail(secret, `?cursor=${cursor}`)).status).toBe(200);
    const stranger = (await api.newKey('ADMIN')).secret;
    const encode = (text: string) => Buffer.from(text).toString('base64url');
    const answers = [await ask(api, `GET /audit?cursor=${cursor}`, { key: stranger })];
    for (const bad of [
      ...['x', '', '=', `${cursor}=`, 'a'.repeat(64), encode('0'), encode('-1'), encode('1e3'), encode("1' or 1")],
      ...[encode('9223372036854775807'), encode('9223372036854775808'), encode('99999999999999999999')],
    ]) {
      answers.push(await ask(api, `GET /audit?cursor=${bad}`, { key: secret }));
    }
    const words = 'Invalid or expired cursor; restart from the first page';
    for (const { status, body } of answers) {
      expect([status, body.details?.cursor]).toEqual([400, { _errors: [words] }]);
    }
  });

  it.each([
    ...['limit=0', 'limit=101', 'limit=-1', 'limit=1e1', 'limit=', 'limit=NaN', 'limit=1&limit=2', 'limit=%00'],
    ...['actor=x', '__proto__=1', `cursor=${'a'.repeat(65)}`, 'cursor=a&cursor=b'],
  ])('refuses ?%s', async (query) => {
    const { secret } = await api.newKey('ADMIN');
    const { status, body } = await ask(api, `GET /audit?${query}`, { key: secret });
    expect([status, body.error]).toEqual([400, 'Invalid request parameters']);
  });
});

describe('the audit trail', () => {
  it.each([
    "update audit_events set actor = 'operator'",
    "update audit_events set actor = 'x' where false",
    'delete from audit_events',
    'truncate audit_events',
  ])('cannot be changed: %s', async (statement) => {
    const { sql } = api.opened.dependencies.core;
    await expect(sql.query(statement)).rejects.toMatchObject({ code: '42501' });
    await expect(owner.query(statement)).rejects.toThrow('append-only');
  });

  it('is written with the act or not at all', async () => {
    const { secret, accountId } = await api.newKey('ADMIN');
    const { id, apiKey } = await create(api, secret);
    const state = async () =>
      (await owner.query('select * from api_keys where account_id = $1 order by id', [accountId])).rows.map(
        ({ last_used_at: _used, ...row }) => row,
      );
    const before = await state();
    await owner.query('alter table audit_events add constraint none check (false) not valid');
    try {
      for (const [line, body] of [
        ['POST /api_keys', INFERENCE],
        ['PATCH /api_keys', { id, description: 'x' }],
        [`POST /api_keys/${id}/rotate`, {}],
        ['DELETE /api_keys', { id }],
      ] as const) {
        expect((await ask(api, line, { key: secret, body })).status).toBe(500);
      }
      expect(await state()).toEqual(before);
    } finally {
      await owner.query('alter table audit_events drop constraint none');
    }
    expect((await ask(api, 'GET /jobs', { key: apiKey })).status).toBe(200);
    expect(await actions(secret)).toEqual(['key.create']);
  });
});
