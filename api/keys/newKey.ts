/** Checks the terms of a new key, as far as possible without the account. */
import { FareboxError } from '../../domain/errors.ts';
import type { Config } from '../../infra/config/config.ts';
import type { NewKey } from '../../infra/postgres/keys.ts';
import type { CoreDependencies } from '../dependencies.ts';
import { invalid } from '../http/invalid.ts';
import type { CreateBody } from './schema.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Throws FareboxError `invalid_request`. */
export function newKeyOf(
  { config, clock }: Pick<CoreDependencies, 'config' | 'clock'>,
  body: CreateBody,
): Omit<NewKey, 'accountId' | 'createdBy'> {
  requireFutureExpiry(body.expiresAt, clock);
  const { usd = null, diem = null, vcu = null } = body.consumptionLimit ?? {};
  return {
    keyType: body.apiKeyType,
    description: body.description,
    limits: { usd, diem, vcu },
    limitPeriod: body.limitPeriod,
    modelPrivacy: body.modelPrivacy,
    models: checkScope(config, body),
    parentId: readParent(body),
    expiresAt: body.expiresAt ?? null,
  };
}

/** Refuses terms under which a key would never work. */
export function requireFutureExpiry(expiresAt: Date | null | undefined, clock: CoreDependencies['clock']): void {
  if (expiresAt && expiresAt.getTime() <= clock.now()) throw invalid('expiresAt', 'Must be in the future');
}

/** An ADMIN key can create keys without a parent, so as a child it would not be bound. */
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
    throw invalid('models', 'Only an INFERENCE key can be made for some models: an ADMIN key can make others');
  }
  const known = new Set(config.models.map(({ id }) => id));
  const unknown = models.flatMap((id, index) => (known.has(id) ? [] : [index]));
  if (unknown.length > 0) {
    const fields = Object.fromEntries(unknown.map((index) => [`models.${index}`, ['Specified model not found']]));
    throw new FareboxError({ code: 'invalid_request', message: 'Invalid request parameters', fields });
  }
  return [...new Set(models)];
}

/** Undefined for an invalid id, which gets the same answer as an unknown one. */
export function toKeyId(id: string | undefined): string | undefined {
  return id !== undefined && UUID.test(id) ? id.toLowerCase() : undefined;
}
