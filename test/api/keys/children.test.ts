/** Child keys: limited at every call in every process by their own and their parent's terms, and ended with it. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { charge, grant, refund } from '../../../infra/postgres/ledger.ts';
import { SNAPSHOT } from '../../infra/postgres/ledgerWorld.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { ask, create, type KeyAnswer, NOBODYS_ID } from './keyClient.ts';
import { announced, twoHoursLater } from './keyClock.ts';

let api: TestApi;
let other: TestApi;
let admin: { secret: string; keyId: string; accountId: string };
beforeAll(async () => {
  api = await startApi();
  other = await startApi({ environment: api.environment });
});
afterAll(async () => {
  await other.stop();
  await api.stop();
});
beforeEach(async () => {
  admin = await api.fundedKey('ADMIN');
});

const LOCAL = 'local-voice-changer';
const REMOTE = 'elevenlabs-voice-changer';

async function family(
  parent: Record<string, unknown> = {},
  child: Record<string, unknown> = {},
): Promise<{ parent: KeyAnswer; child: KeyAnswer }> {
  const made = await create(api, admin.secret, parent);
  return { parent: made, child: await create(api, admin.secret, { parentId: made.id, ...child }) };
}

const patch = async (id: string, change: Record<string, unknown>) =>
  expect((await ask(api, 'PATCH /api_keys', { key: admin.secret, body: { id, ...change } })).status).toBe(200);
const shown = async (id: string) =>
  (await ask<{ data: Record<string, unknown> }>(api, `GET /api_keys/${id}`, { key: admin.secret })).body.data;
const statusOf = async (at: TestApi, key: string) => (await ask(at, 'GET /jobs', { key })).status;
/** An order without a recording: allowed models get 400 or 503 (offline), other models get 403 first. */
const order = async (at: TestApi, key: string, model: string) =>
  (await ask(at, 'POST /audio/voice-changer/queue', { key, body: { model } })).status;

describe('a child', () => {
  it('is made by an ADMIN key and shows its parent everywhere, and other keys show none', async () => {
    const { parent, child } = await family();
    expect(child.parentId).toBe(parent.id);
    expect((await shown(child.id)).parentId).toBe(parent.id);
    expect(await shown(parent.id)).not.toHaveProperty('parentId');
    const body = { apiKeyType: 'INFERENCE', description: '', parentId: parent.id };
    const own = await ask(api, 'POST /api_keys', { key: parent.apiKey, body });
    expect([own.status, own.body.error]).toEqual([401, 'Admin API key required']);
    const audit = await ask<{ data: Record<string, unknown>[] }>(api, 'GET /audit', { key: admin.secret });
    expect(audit.body.data[0]).toMatchObject({
      ...{ action: 'key.create', targetId: child.id, changes: { parentId: parent.id } },
    });
  });

  it.each([
    ['nobody', () => NOBODYS_ID],
    ['what is no id', () => "' or true --"],
    ["another account's key", async () => (await api.newKey('INFERENCE')).keyId],
    ['a removed key', async () => removed((await create(api, admin.secret)).id)],
    ['a child', async () => (await family()).child.id],
  ])('is not made of %s', async (_name, parent) => {
    const body = { apiKeyType: 'INFERENCE', description: '', parentId: await parent() };
    const refused = await ask(api, 'POST /api_keys', { key: admin.secret, body });
    expect([refused.status, refused.body.details.parentId]).toEqual([
      400,
      { _errors: [expect.stringMatching(/^API key not found or expired$|^A child key has no children$/)] },
    ]);
  });

  it('cannot be an ADMIN key, nor be made for a model that its parent may not call', async () => {
    const { id: parentId } = await create(api, admin.secret, { models: [LOCAL] });
    const body = { apiKeyType: 'ADMIN', description: '', parentId };
    const mighty = await ask(api, 'POST /api_keys', { key: admin.secret, body });
    expect([mighty.status, mighty.body.details]).toMatchObject([400, { parentId: {} }]);
    const useless = { ...body, apiKeyType: 'INFERENCE', models: [LOCAL, REMOTE] };
    const outside = await ask(api, 'POST /api_keys', { key: admin.secret, body: useless });
    expect([outside.status, outside.body.details]).toMatchObject([
      400,
      { models: { _errors: [`The parent key may not call the model ${REMOTE}`] } },
    ]);
  });

  async function removed(id: string): Promise<string> {
    await ask(api, `DELETE /api_keys?id=${id}`, { key: admin.secret });
    return id;
  }
});

describe('the terms of a child and its parent, which both apply', () => {
  it('models', async () => {
    const { child } = await family({ models: [LOCAL] });
    expect([await order(api, child.apiKey, LOCAL), await order(api, child.apiKey, REMOTE)]).toEqual([400, 403]);
    const wide = await family({}, { models: [LOCAL] });
    const both = [wide.parent, wide.child].map(({ apiKey }) => order(api, apiKey, REMOTE));
    expect(await Promise.all(both)).toEqual([503, 403]);
  });

  it("modelPrivacy, also after a change of the parent's, in every process", async () => {
    const { parent, child } = await family();
    expect(await order(other, child.apiKey, REMOTE)).toBe(503);
    await patch(parent.id, { modelPrivacy: 'PRIVATE_ONLY' });
    await announced(() => order(other, child.apiKey, REMOTE), 403);
    await patch(parent.id, { modelPrivacy: 'ALL' });
    await announced(() => order(other, child.apiKey, REMOTE), 503);
    await patch(child.id, { modelPrivacy: 'PRIVATE_ONLY' });
    await announced(() => order(other, child.apiKey, REMOTE), 403);
    expect(await order(other, parent.apiKey, REMOTE)).toBe(503);
  });

  it('the earlier expiry, and no list has the child of an expired parent', async () => {
    const { parent, child } = await family({}, { expiresAt: '2199-01-01' });
    expect(await statusOf(other, child.apiKey)).toBe(200);
    const expiresAt = new Date(Date.now() + 3_600_000);
    await patch(parent.id, { expiresAt: expiresAt.toISOString() });
    const readStatuses = async (secret: string) => [await statusOf(other, secret), await statusOf(api, secret)];
    await twoHoursLater(api, readStatuses, async () => {
      await announced(() => statusOf(other, child.apiKey), 401);
      await announced(() => statusOf(api, child.apiKey), 401);
      expect(await shown(child.id)).toBeUndefined();
      const change = { key: admin.secret, body: { id: child.id, expiresAt: null } };
      expect((await ask(api, 'PATCH /api_keys', change)).status).toBe(400);
    });
  });
});

describe('a removed parent', () => {
  it('ends its children at once in every process, whichever secret they use', async () => {
    const { parent, child } = await family();
    const turned = await ask(api, `POST /api_keys/${child.id}/rotate`, { key: admin.secret });
    const secrets = [child.apiKey, turned.body.data.apiKey];
    for (const secret of secrets) {
      expect([await statusOf(api, secret), await statusOf(other, secret)]).toEqual([200, 200]);
    }
    await ask(api, `DELETE /api_keys?id=${parent.id}`, { key: admin.secret });
    for (const secret of secrets) {
      await announced(() => statusOf(other, secret), 401);
      await announced(() => statusOf(api, secret), 401);
    }
    const { body } = await ask<{ data: { id: string }[] }>(api, 'GET /api_keys', { key: admin.secret });
    expect(body.data.map(({ id }) => id)).not.toContain(child.id);
  });

  it('does not end its siblings, and an ended child does not end its parent', async () => {
    const { parent, child } = await family();
    const sibling = await create(api, admin.secret, { parentId: parent.id });
    await ask(api, `DELETE /api_keys?id=${child.id}`, { key: admin.secret });
    await announced(() => statusOf(api, child.apiKey), 401);
    expect([await statusOf(api, parent.apiKey), await statusOf(api, sibling.apiKey)]).toEqual([200, 200]);
  });
});

describe('rotation', () => {
  it('of the parent keeps its children, and of a child binds both secrets to the parent', async () => {
    const { parent, child } = await family({ models: [LOCAL] });
    expect(await statusOf(other, child.apiKey)).toBe(200);
    const body = { overlapSeconds: 600 };
    const turned = await ask(api, `POST /api_keys/${parent.id}/rotate`, { key: admin.secret, body });
    const again = await ask(api, `POST /api_keys/${child.id}/rotate`, { key: admin.secret, body });
    expect(again.body.data.parentId).toBe(parent.id);
    for (const secret of [parent.apiKey, turned.body.data.apiKey, child.apiKey, again.body.data.apiKey]) {
      expect([await order(other, secret, LOCAL), await order(other, secret, REMOTE)]).toEqual([400, 403]);
    }
  });
});

describe('the charges of a child', () => {
  it('count into both limits and both usages, and so do their refunds', async () => {
    const { sql } = api.opened.dependencies.core;
    const { accountId } = admin;
    const funds = { accountId, currency: 'usd', amount: 9_000_000_000n, notes: 'test' } as const;
    await grant(sql, { ...funds, operationId: randomUUID() });
    const limit = (usd: number) => ({ consumptionLimit: { usd } });
    const { parent, child } = await family(limit(3), limit(2));
    const sibling = await create(api, admin.secret, { parentId: parent.id });
    const spend = async (keyId: string, usd: bigint) => {
      const operationId = randomUUID();
      const price = { usd: usd * 1_000_000_000n, diem: 0n };
      const charged = await charge(sql, { operationId, accountId, keyId, price, snapshot: SNAPSHOT });
      return { operationId, outcome: charged.outcome };
    };
    const first = await spend(child.id, 2n);
    expect([first.outcome, (await spend(child.id, 1n)).outcome]).toEqual(['charged', 'key_limit']);
    expect([(await spend(sibling.id, 2n)).outcome, (await spend(parent.id, 2n)).outcome]).toEqual([
      'key_limit',
      'key_limit',
    ]);
    expect((await spend(sibling.id, 1n)).outcome).toBe('charged');
    const used = async () =>
      (await Promise.all([parent, child, sibling].map(({ id }) => shown(id)))).map(
        (key) => (key.usage as { trailingSevenDays: { usd: string } }).trailingSevenDays.usd,
      );
    expect(await used()).toEqual(['3.0000', '2.0000', '1.0000']);
    const chargeOperationId = first.operationId;
    await refund(sql, { operationId: randomUUID(), chargeOperationId, reason: 'x' });
    expect(await used()).toEqual(['1.0000', '0.0000', '1.0000']);
    expect((await spend(sibling.id, 2n)).outcome).toBe('charged');
  });
});
