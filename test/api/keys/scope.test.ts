/** Keys with a list of allowed models. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApi, type TestApi } from '../startApi.ts';
import { ask, create } from './keyClient.ts';

let api: TestApi;
let admin: { secret: string; keyId: string; accountId: string };
beforeAll(async () => {
  api = await startApi();
  admin = await api.fundedKey('ADMIN');
});
afterAll(() => api.stop());

const LOCAL = 'local-voice-changer';
const REMOTE = 'elevenlabs-voice-changer';

/** An order without a recording: allowed models get 400, others get 403 first. */
const order = (key: string, model: string) => ask(api, 'POST /audio/voice-changer/queue', { key, body: { model } });

describe('a key for some models', () => {
  it('may call these, and is refused any other by name', async () => {
    const { apiKey } = await create(api, admin.secret, { models: [LOCAL] });
    expect((await order(apiKey, LOCAL)).status).toBe(400);
    const refused = await order(apiKey, REMOTE);
    expect([refused.status, refused.body]).toEqual([
      403,
      { error: `This API key may not call the model ${REMOTE}: it was made for other models only` },
    ]);
  });

  it('may call several, which are listed once each, and all without a list', async () => {
    const several = await create(api, admin.secret, { models: [REMOTE, LOCAL, REMOTE] });
    expect(several.models).toEqual([REMOTE, LOCAL]);
    const plain = await create(api, admin.secret);
    for (const { apiKey } of [several, plain]) {
      expect([(await order(apiKey, LOCAL)).status, (await order(apiKey, REMOTE)).status]).toEqual([400, 503]);
    }
    expect(plain).not.toHaveProperty('models');
  });

  it('also has its own privacy setting, limit and expiry, and shows its list', async () => {
    const terms = { models: [REMOTE], modelPrivacy: 'PRIVATE_ONLY', expiresAt: '2199-01-01' };
    const made = await create(api, admin.secret, { ...terms, consumptionLimit: { usd: 0.5 } });
    expect((await order(made.apiKey, REMOTE)).body.error).toContain('modelPrivacy');
    const shown = (await ask(api, `GET /api_keys/${made.id}`, { key: admin.secret })).body.data;
    expect(shown).toMatchObject({ models: [REMOTE], consumptionLimits: { usd: 0.5 } });
    const patch = { id: made.id, modelPrivacy: 'ALL' };
    const patched = await ask(api, 'PATCH /api_keys', { key: admin.secret, body: patch });
    expect(patched.body.data.models).toEqual([REMOTE]);
  });

  it('keeps its list in a rotation', async () => {
    const { id, apiKey: first } = await create(api, admin.secret, { models: [LOCAL] });
    const { body } = await ask(api, `POST /api_keys/${id}/rotate`, { key: admin.secret });
    expect(body.data.models).toEqual([LOCAL]);
    for (const key of [first, body.data.apiKey]) expect((await order(key, REMOTE)).status).toBe(403);
  });
});
