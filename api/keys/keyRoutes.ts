/**
 * The keys of an account (specification 4.9), for its ADMIN keys only: an INFERENCE key makes no children of itself. Going
 * beyond it: rotation, keys for some models, and keys that are another one's children.
 */

import { FareboxError } from '../../domain/errors.ts';
import type { Config } from '../../infra/config/config.ts';
import { changeKey, endKey, makeKey, rotateKey } from '../../infra/postgres/keyAdministration.ts';
import { activeKeys } from '../../infra/postgres/keyUsage.ts';
import { actorOf } from '../actor.ts';
import { json } from '../answer.ts';
import type { Dependencies } from '../dependencies.ts';
import { invalid } from '../invalid.ts';
import { defineRoute } from '../route.ts';
import { KEY_DESCRIPTIONS } from './descriptions.ts';
import { presentKey, presentKeyWithUsage, presentNewKey } from './presentKey.ts';
import { type CreateBody, createBody, deleteBody, deleteQuery, rotateBody, updateBody } from './shapes.ts';

const MOST_BYTES = 64 * 1024;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const listKeysRoute = defineRoute({
  method: 'GET',
  path: '/api_keys',
  access: 'admin',
  describes: KEY_DESCRIPTIONS.list,
  async handler({ sql }, { caller }) {
    const keys = await activeKeys(sql, { accountId: caller.accountId });
    return json({ object: 'list', data: keys.map(presentKeyWithUsage) });
  },
});

export const showKeyRoute = defineRoute({
  method: 'GET',
  path: '/api_keys/{id}',
  access: 'admin',
  describes: KEY_DESCRIPTIONS.show,
  async handler({ sql }, { caller, params }) {
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
  body: { json: { schema: createBody, maxBytes: MOST_BYTES } },
  describes: KEY_DESCRIPTIONS.create,
  async handler({ sql, config, clock }, request) {
    const { body, caller } = request;
    mustBeFuture(body.expiresAt, clock);
    const { usd = null, diem = null, vcu = null } = body.consumptionLimit ?? {};
    const { record, secret } = await makeKey(sql, actorOf(request), {
      accountId: caller.accountId,
      keyType: body.apiKeyType,
      description: body.description,
      limits: { usd, diem, vcu },
      limitPeriod: body.limitPeriod,
      modelPrivacy: body.modelPrivacy,
      models: checkScope(config, body),
      parentId: readParent(body),
      expiresAt: body.expiresAt ?? null,
    });
    return json({ success: true, data: presentNewKey(record, secret) });
  },
});

export const updateKeyRoute = defineRoute({
  method: 'PATCH',
  path: '/api_keys',
  access: 'admin',
  body: { json: { schema: updateBody, maxBytes: MOST_BYTES } },
  describes: KEY_DESCRIPTIONS.update,
  async handler({ sql, clock }, request) {
    const { id, consumptionLimit, ...patch } = request.body;
    mustBeFuture(patch.expiresAt, clock);
    const keyId = toKeyId(id);
    const act = { actor: actorOf(request), accountId: request.caller.accountId };
    const record = keyId && (await changeKey(sql, { ...act, keyId }, { ...patch, limits: consumptionLimit }));
    if (!record) throw unknownKey('API key not found or expired');
    return json({ success: true, data: presentKey(record) });
  },
});

export const deleteKeyRoute = defineRoute({
  method: 'DELETE',
  path: '/api_keys',
  access: 'admin',
  query: deleteQuery,
  body: { json: { schema: deleteBody, maxBytes: MOST_BYTES }, optional: true },
  describes: KEY_DESCRIPTIONS.remove,
  async handler({ sql }, request) {
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
 * Beside the specification: a new secret for the same key. `overlapSeconds` (0 to 604,800; 3,600 when left out) is how
 * long the present secret works on, and bounds what is left of earlier overlaps.
 */
export const rotateKeyRoute = defineRoute({
  method: 'POST',
  path: '/api_keys/{id}/rotate',
  access: 'admin',
  body: { json: { schema: rotateBody, maxBytes: MOST_BYTES }, optional: true },
  describes: KEY_DESCRIPTIONS.rotate,
  async handler({ sql }, request) {
    const keyId = toKeyId(request.params.id);
    const act = { actor: actorOf(request), accountId: request.caller.accountId };
    const overlapSeconds = request.body?.overlapSeconds ?? 3_600;
    const rotated = keyId && (await rotateKey(sql, { ...act, keyId }, overlapSeconds));
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

/** No key is made or left that never works. */
function mustBeFuture(expiresAt: Date | null | undefined, clock: Dependencies['clock']): void {
  if (expiresAt && expiresAt.getTime() <= clock.now()) throw invalid('expiresAt', 'Must be in the future');
}

/** An ADMIN key can make keys that are nobody's children, so as a child it would be bound to nothing. */
function readParent({ parentId, apiKeyType }: CreateBody): string | null {
  if (parentId === undefined) return null;
  if (apiKeyType === 'ADMIN') throw invalid('parentId', 'Only an INFERENCE key can be the child of another');
  const keyId = toKeyId(parentId);
  if (keyId === undefined) throw invalid('parentId', 'API key not found or expired');
  return keyId;
}

/** The ids of a scope, each once; throws `invalid_request` for a model that the catalogue does not have. */
function checkScope(config: Config, { models, apiKeyType }: CreateBody): string[] | null {
  if (models === undefined) return null;
  if (apiKeyType === 'ADMIN') {
    throw invalid(
      'models',
      'Only an INFERENCE key can be made for some models: an ADMIN key can make others',
    );
  }
  const known = new Set(config.models.map(({ id }) => id));
  const unknown = models.flatMap((id, index) => (known.has(id) ? [] : [index]));
  if (unknown.length > 0) {
    const fields = Object.fromEntries(
      unknown.map((index) => [`models.${index}`, ['Specified model not found']]),
    );
    throw new FareboxError({ code: 'invalid_request', message: 'Invalid request parameters', fields });
  }
  return [...new Set(models)];
}

/** Undefined for what cannot be an id: nobody's key, as any other unknown one. */
function toKeyId(id: string | undefined): string | undefined {
  return id !== undefined && UUID.test(id) ? id.toLowerCase() : undefined;
}

function unknownKey(message: string): FareboxError {
  return new FareboxError({ code: 'invalid_request', message });
}
