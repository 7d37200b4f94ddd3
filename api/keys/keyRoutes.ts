/**
 * Keys of an account, for its ADMIN keys only (ACCOUNT-6): an INFERENCE key cannot create children. Rotation, model
 * lists and child keys are additions to the published API (API-17).
 */

import type { Caller } from '../../domain/caller.ts';
import { FareboxError } from '../../domain/errors.ts';
import { changeKey, endKey, makeKey, rotateKey } from '../../infra/postgres/keyAdministration.ts';
import { activeKeys, type KeyWithUsage } from '../../infra/postgres/keyUsage.ts';
import type { Sql } from '../../infra/postgres/pool.ts';
import { actorOf } from '../http/actor.ts';
import { json } from '../http/answer.ts';
import { invalid } from '../http/invalid.ts';
import { defineRoute } from '../http/route.ts';
import { newKeyOf, requireFutureExpiry, toKeyId } from './newKey.ts';
import { KEY_DESCRIPTIONS } from './openapi.ts';
import { presentKey, presentKeyWithUsage, presentNewKey } from './presentKey.ts';
import { createBody, deleteBody, deleteQuery, rotateBody, updateBody } from './schema.ts';

const MAX_BYTES = 64 * 1024;

export const listKeysRoute = defineRoute({
  method: 'GET',
  path: '/api_keys',
  access: 'admin',
  describes: KEY_DESCRIPTIONS.list,
  async handler({ core: { sql } }, { caller }) {
    const keys = await activeKeys(sql, { accountId: caller.accountId });
    return json({ object: 'list', data: keys.map(presentKeyWithUsage) });
  },
});

export const showKeyRoute = defineRoute({
  method: 'GET',
  path: '/api_keys/{id}',
  access: 'admin',
  describes: KEY_DESCRIPTIONS.show,
  async handler({ core: { sql } }, { caller, params }) {
    const keyId = toKeyId(params.id);
    const [key] = keyId === undefined ? [] : await activeKeys(sql, { accountId: caller.accountId, keyId });
    if (!key) throw unknownKey('API key not found');
    return json({ data: presentKeyWithUsage(key) });
  },
});

export const createKeyRoute = defineRoute({
  method: 'POST',
  path: '/api_keys',
  access: 'admin',
  body: { json: { schema: createBody, maxBytes: MAX_BYTES } },
  describes: KEY_DESCRIPTIONS.create,
  async handler({ core }, request) {
    const { accountId } = request.caller;
    const key = newKeyOf(core, request.body);
    if (key.keyType === 'ADMIN') refuseLongerLife(request.caller, key.expiresAt ?? null);
    const { record, secret } = await makeKey(core.sql, actorOf(request), { ...key, accountId });
    return json({ success: true, data: presentNewKey(record, secret) });
  },
});

export const updateKeyRoute = defineRoute({
  method: 'PATCH',
  path: '/api_keys',
  access: 'admin',
  body: { json: { schema: updateBody, maxBytes: MAX_BYTES } },
  describes: KEY_DESCRIPTIONS.update,
  async handler({ core: { sql, clock } }, request) {
    const { id, consumptionLimit, ...patch } = request.body;
    requireFutureExpiry(patch.expiresAt, clock);
    const keyId = toKeyId(id);
    const { caller } = request;
    if (patch.expiresAt !== undefined && (await findAdminKey(sql, caller, keyId))) {
      refuseLongerLife(caller, patch.expiresAt);
    }
    const act = { actor: actorOf(request), accountId: caller.accountId };
    const record = keyId && (await changeKey(sql, { ...act, keyId }, { ...patch, limits: consumptionLimit }));
    if (!record) throw unknownKey('API key not found or expired');
    return json({ success: true, data: presentKey(record) });
  },
});

/**
 * A key with an expiry cannot remove it, since it was set to end the key. So it neither extends its own life nor
 * creates an ADMIN key that lives longer.
 */
function refuseLongerLife({ keyExpiresAt }: Caller, expiresAt: Date | null): void {
  if (!keyExpiresAt || (expiresAt !== null && expiresAt <= keyExpiresAt)) return;
  const words = 'An API key cannot extend its own life, nor get an ADMIN key that outlives it: use another ADMIN key';
  throw invalid('expiresAt', words);
}

async function findAdminKey(
  sql: Sql,
  { accountId }: Caller,
  keyId: string | undefined,
): Promise<KeyWithUsage | undefined> {
  const [key] = keyId === undefined ? [] : await activeKeys(sql, { accountId, keyId });
  return key?.keyType === 'ADMIN' ? key : undefined;
}

export const deleteKeyRoute = defineRoute({
  method: 'DELETE',
  path: '/api_keys',
  access: 'admin',
  query: deleteQuery,
  body: { json: { schema: deleteBody, maxBytes: MAX_BYTES }, optional: true },
  describes: KEY_DESCRIPTIONS.remove,
  async handler({ core: { sql } }, request) {
    const { query, body, caller } = request;
    if ((query.id === undefined) === (body === undefined)) {
      throw invalid('id', 'Name the key either in the query or in the body');
    }
    const keyId = toKeyId(query.id ?? body?.id);
    const act = { actor: actorOf(request), accountId: caller.accountId };
    const record = keyId && (await endKey(sql, { ...act, keyId }));
    if (!record) throw unknownKey('API key could not be found');
    return json({ success: true });
  },
});

/**
 * Gives a key a new secret, an addition to the published API (API-17). `overlapSeconds` (0 to 604,800; default 3,600,
 * for an ADMIN key 0) is how long the present secret stays valid, and bounds earlier overlaps.
 */
export const rotateKeyRoute = defineRoute({
  method: 'POST',
  path: '/api_keys/{id}/rotate',
  access: 'admin',
  body: { json: { schema: rotateBody, maxBytes: MAX_BYTES }, optional: true },
  describes: KEY_DESCRIPTIONS.rotate,
  async handler({ core: { sql } }, request) {
    const { caller } = request;
    const keyId = toKeyId(request.params.id);
    const adminKey = await findAdminKey(sql, caller, keyId);
    if (adminKey) refuseLongerLife(caller, adminKey.expiresAt);
    const act = { actor: actorOf(request), accountId: caller.accountId };
    const rotated = keyId && (await rotateKey(sql, { ...act, keyId }, request.body?.overlapSeconds));
    if (!rotated) throw unknownKey('API key not found or expired');
    return json({
      success: true,
      data: {
        ...presentKey(rotated.record),
        apiKey: rotated.secret,
        previousKeyExpiresAt: rotated.previousWorksUntil?.toISOString() ?? null,
      },
    });
  },
});

function unknownKey(message: string): FareboxError {
  return new FareboxError({ code: 'invalid_request', message });
}
