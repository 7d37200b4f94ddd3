/** Key rotation: a key gets a new secret, and the old one works until the end of its overlap. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApi, type TestApi } from '../startApi.ts';
import { ask, create, type KeyAnswer } from './keyClient.ts';
import { announced, twoHoursLater } from './keyClock.ts';

let api: TestApi;
let other: TestApi;
let admin: { secret: string; keyId: string; accountId: string };
beforeAll(async () => {
  api = await startApi();
  other = await startApi({ environment: api.environment });
  admin = await api.newKey('ADMIN');
});
afterAll(async () => {
  await other.stop();
  await api.stop();
});

type Rotated = KeyAnswer & { previousKeyExpiresAt: string | null };

async function rotate(id: string, body?: unknown): Promise<Rotated> {
  const reply = await ask<{ data: Rotated }>(api, `POST /api_keys/${id}/rotate`, { key: admin.secret, body });
  expect([reply.status, reply.body]).toMatchObject([200, { success: true }]);
  return reply.body.data;
}

const statusOf = async (at: TestApi, key: string) => (await ask(at, 'GET /jobs', { key })).status;
const ended = (at: TestApi, key: string) => announced(() => statusOf(at, key), 401);

describe('POST /api_keys/{id}/rotate', () => {
  it('returns the record with the new secret, and keeps id, limits and the rest', async () => {
    const terms = { consumptionLimit: { usd: 2 }, limitPeriod: 'MONTH', expiresAt: '2199-01-01' };
    const made = await create(api, admin.secret, terms);
    const shown = async () => (await ask(api, `GET /api_keys/${made.id}`, { key: admin.secret })).body.data;
    const before = await shown();
    const from = Date.now();
    const { apiKey, previousKeyExpiresAt, ...record } = await rotate(made.id);
    const to = Date.now();
    const { usage: _usage, currentPeriodUsage: _period, ...unchanged } = before;
    expect(record).toEqual({ ...unchanged, last6Chars: apiKey.slice(-6) });
    expect(await shown()).toEqual({ ...before, last6Chars: apiKey.slice(-6) });
    expect(apiKey).toMatch(/^FAREBOX_INFERENCE_KEY_[\w-]{43}$/);
    expect(apiKey).not.toBe(made.apiKey);
    const ends = Date.parse(previousKeyExpiresAt ?? '');
    expect(ends).toBeGreaterThanOrEqual(from + 3_600_000 - 1_000);
    expect(ends).toBeLessThanOrEqual(to + 3_600_000 + 1_000);
  });

  it('ends the old secret of an ADMIN key at once, unless an overlap is requested', async () => {
    const made = await create(api, admin.secret, { apiKeyType: 'ADMIN' });
    const { apiKey, previousKeyExpiresAt } = await rotate(made.id);
    expect(previousKeyExpiresAt).toBe(null);
    await ended(api, made.apiKey);
    expect((await rotate(made.id, { overlapSeconds: 60 })).previousKeyExpiresAt).not.toBe(null);
    expect(await statusOf(api, apiKey)).toBe(200);
  });

  it('ends the old secret at once in every process without an overlap', async () => {
    const made = await create(api, admin.secret);
    expect([await statusOf(api, made.apiKey), await statusOf(other, made.apiKey)]).toEqual([200, 200]);
    const { apiKey, previousKeyExpiresAt } = await rotate(made.id, { overlapSeconds: 0 });
    expect(previousKeyExpiresAt).toBe(null);
    await ended(other, made.apiKey);
    await ended(api, made.apiKey);
    expect([await statusOf(api, apiKey), await statusOf(other, apiKey)]).toEqual([200, 200]);
  });

  it('accepts both secrets until the overlap is over', async () => {
    const made = await create(api, admin.secret);
    const { apiKey } = await rotate(made.id, { overlapSeconds: 3_600 });
    const both = [statusOf(api, made.apiKey), statusOf(other, made.apiKey), statusOf(api, apiKey)];
    expect(await Promise.all(both)).toEqual([200, 200, 200]);
    const readStatuses = async (secret: string) => [await statusOf(api, secret), await statusOf(other, secret)];
    await twoHoursLater(api, readStatuses, async () => {
      expect(await readStatuses(made.apiKey)).toEqual([401, 401]);
      expect(await statusOf(api, apiKey)).toBe(200);
    });
  });

  it('ends the first overlap by a second rotation without one', async () => {
    const made = await create(api, admin.secret);
    const second = await rotate(made.id, { overlapSeconds: 600 });
    expect([await statusOf(other, made.apiKey), await statusOf(other, second.apiKey)]).toEqual([200, 200]);
    const third = await rotate(made.id, { overlapSeconds: 0 });
    await ended(other, made.apiKey);
    await ended(other, second.apiKey);
    expect(await statusOf(other, third.apiKey)).toBe(200);
  });

  it('ends all secrets of a key at once when it is revoked', async () => {
    const made = await create(api, admin.secret);
    const { apiKey } = await rotate(made.id, { overlapSeconds: 600 });
    expect([await statusOf(other, made.apiKey), await statusOf(other, apiKey)]).toEqual([200, 200]);
    await ask(api, `DELETE /api_keys?id=${made.id}`, { key: admin.secret });
    await ended(other, made.apiKey);
    await ended(other, apiKey);
  });

  it("ends the overlap with the key's expiry", async () => {
    const soon = new Date(Date.now() + 60_000).toISOString();
    const made = await create(api, admin.secret, { expiresAt: soon });
    expect((await rotate(made.id, { overlapSeconds: 604_800 })).previousKeyExpiresAt).toBe(soon);
  });

  it('allows ten replaced secrets, and no eleventh', async () => {
    const made = await create(api, admin.secret);
    for (let round = 0; round < 10; round += 1) await rotate(made.id, {});
    const eleventh = await ask(api, `POST /api_keys/${made.id}/rotate`, { key: admin.secret });
    expect([eleventh.status, eleventh.body.error]).toEqual([400, expect.stringContaining('At most 10 replaced')]);
    expect(await statusOf(api, made.apiKey)).toBe(200);
    await rotate(made.id, { overlapSeconds: 0 });
    await ended(api, made.apiKey);
  });

  it('stores no secret in the database', async () => {
    const made = await create(api, admin.secret);
    const { apiKey } = await rotate(made.id);
    const { rows } = await api.opened.dependencies.core.sql.query(
      `select row_to_json(s)::text as text from replaced_secrets s
        union all select row_to_json(k)::text from api_keys k union all select row_to_json(e)::text from audit_events e`,
    );
    const stored = rows.map(({ text }) => text).join();
    for (const secret of [made.apiKey, apiKey]) {
      expect(stored).not.toContain(secret);
      expect(stored).not.toContain(secret.slice(-43));
    }
  });
});
