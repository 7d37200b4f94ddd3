/** A process that caches a key sees a change of it at once. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawnApi } from '../../harness/services.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { ask, create } from './keyClient.ts';
import { twoHoursLater } from './keyClock.ts';

let api: TestApi;
let second: Awaited<ReturnType<typeof spawnApi>>;
let admin: string;
beforeAll(async () => {
  api = await startApi();
  second = await spawnApi({ environment: { ...api.environment, NODE_OPTIONS: STOPPED_CLOCK } });
  admin = (await api.fundedKey('ADMIN')).secret;
});
afterAll(async () => {
  await second?.stop();
  await api.stop();
});

/** Keeps cached keys from becoming old enough to be read again without an announcement. */
const STOPPED_CLOCK = '--import=data:text/javascript,performance.now=()=>1000';
const statusOf = async (key: string) => (await ask(second, 'GET /jobs', { key })).status;
const readStatuses = async (key: string) => [await statusOf(key)];
const patch = async (id: string, change: Record<string, unknown>) =>
  expect((await ask(api, 'PATCH /api_keys', { key: admin, body: { id, ...change } })).status).toBe(200);

describe('a change in another process, seen at once', () => {
  it('a changed modelPrivacy', async () => {
    const { id, apiKey } = await create(api, admin);
    const body = { model: 'elevenlabs-voice-changer' };
    const order = async () => (await ask(second, 'POST /audio/voice-changer/queue', { key: apiKey, body })).status;
    // Allowed, but offline here.
    expect(await order()).toBe(503);
    await patch(id, { modelPrivacy: 'PRIVATE_ONLY' });
    await expect.poll(order).toBe(403);
    await patch(id, { modelPrivacy: 'ALL' });
    await expect.poll(order).toBe(503);
  });

  it('an expiry that is set', async () => {
    const { id, apiKey } = await create(api, admin);
    expect(await statusOf(apiKey)).toBe(200);
    const expiresAt = new Date(Date.now() + 3_600_000);
    await patch(id, { expiresAt: expiresAt.toISOString() });
    expect(await statusOf(apiKey)).toBe(200);
    await twoHoursLater(api, readStatuses, async () => {
      await expect.poll(() => statusOf(apiKey)).toBe(401);
      const gone = await ask(api, 'PATCH /api_keys', { key: admin, body: { id, expiresAt: null } });
      expect([gone.status, gone.body]).toEqual([400, { error: 'API key not found or expired' }]);
    });
  });

  it('an expiry that is removed', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000);
    const { id, apiKey } = await create(api, admin, { expiresAt: expiresAt.toISOString() });
    expect(await statusOf(apiKey)).toBe(200);
    await patch(id, { expiresAt: '' });
    await twoHoursLater(api, readStatuses, async () => {
      await expect.poll(() => statusOf(apiKey)).toBe(200);
    });
  });

  it('a removal, and a rotation without overlap', async () => {
    const removed = await create(api, admin);
    const rotated = await create(api, admin);
    expect([await statusOf(removed.apiKey), await statusOf(rotated.apiKey)]).toEqual([200, 200]);
    await ask(api, `DELETE /api_keys?id=${removed.id}`, { key: admin });
    await expect.poll(() => statusOf(removed.apiKey)).toBe(401);
    const body = { overlapSeconds: 0 };
    await ask(api, `POST /api_keys/${rotated.id}/rotate`, { key: admin, body });
    await expect.poll(() => statusOf(rotated.apiKey)).toBe(401);
  });
});
