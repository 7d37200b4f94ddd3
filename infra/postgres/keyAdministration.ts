/**
 * Acts on the keys of an account, each in one transaction with its row of the audit trail, under the lock of the
 * account's row: the counts that limit creations are exact with any number of processes.
 */
import type pg from 'pg';
import type { ModelPrivacy } from '../../domain/caller.ts';
import { FareboxError } from '../../domain/errors.ts';
import type { LimitPeriod } from '../../domain/ledger.ts';
import { formatNano, type Nano } from '../../domain/money.ts';
import { type Actor, recordAct } from './audit.ts';
import { asLedgerError } from './failures.ts';
import {
  createKey,
  hashSecret,
  IS_ACTIVE,
  KEY_COLUMNS,
  type KeyLimits,
  type KeyRecord,
  type KeyRow,
  limitColumns,
  type NewKey,
  newSecret,
  revokeKey,
  toKeyRecord,
} from './keys.ts';
import { inTransaction } from './pool.ts';

const MAX_ACTIVE_KEYS = 500;
const MAX_CREATIONS_A_MINUTE = 20;
/** Limit of valid replaced secrets of one key. */
const MAX_OVERLAPS = 10;

export interface KeyAct {
  actor: Actor;
  accountId: string;
  /** A UUID. */
  keyId: string;
}

/**
 * Creates a key. Throws `rate_limited` for the 21st in a minute (the operator's do not count), and `invalid_request`
 * when the account has 500 active keys, or no such parent.
 */
export async function makeKey(
  pool: pg.Pool,
  actor: Actor,
  request: Omit<NewKey, 'createdBy'>,
): Promise<{ record: KeyRecord; secret: string }> {
  const { accountId } = request;
  return await administer(pool, accountId, async (client) => {
    const isWallet = actor !== 'operator' && 'wallet' in actor;
    if (actor !== 'operator') await boundCreations(client, accountId, isWallet);
    await boundActiveKeys(client, accountId);
    if (request.parentId) await checkParent(client, { ...request, keyId: request.parentId });
    const createdBy = actor === 'operator' || isWallet ? {} : { createdBy: actor.keyId };
    const made = await createKey(client, { ...request, ...createdBy });
    const { id: targetId } = made.record;
    const changes = newKeyFacts(made.record);
    await recordAct(client, { accountId, actor, action: 'key.create', targetId, changes });
    return made;
  });
}

/** Models of a key are fixed: one that its parent may not call could never be called. */
async function checkParent(
  client: pg.PoolClient,
  { accountId, keyId, models }: Pick<NewKey, 'accountId' | 'models'> & { keyId: string },
): Promise<void> {
  const parent = await lockActiveKey(client, { accountId, keyId });
  if (!parent) throw refusedField('parentId', 'API key not found or expired');
  if (parent.parentId !== null) throw refusedField('parentId', 'A child key has no children');
  const { models: allowed } = parent;
  const outside = allowed && models ? models.find((model) => !allowed.includes(model)) : undefined;
  if (outside !== undefined) throw refusedField('models', `The parent key may not call the model ${outside}`);
}

function refusedField(field: string, words: string): FareboxError {
  const fields = { [field]: [words] };
  return new FareboxError({ code: 'invalid_request', message: 'Invalid request parameters', fields });
}

export interface KeyPatch {
  description?: string | undefined;
  /** Absent members stay unchanged. */
  limits?: { [Currency in keyof KeyLimits]?: KeyLimits[Currency] | undefined } | undefined;
  limitPeriod?: LimitPeriod | undefined;
  modelPrivacy?: ModelPrivacy | undefined;
  expiresAt?: Date | null | undefined;
}

/** Changes an active key; undefined when the account has none with this id. A change without an effect is no act. */
export async function changeKey(pool: pg.Pool, act: KeyAct, patch: KeyPatch): Promise<KeyRecord | undefined> {
  return await administer(pool, act.accountId, async (client) => {
    const before = await lockActiveKey(client, act);
    if (!before) return undefined;
    const after = patched(before, patch);
    const changes = keyChanges(before, after);
    if (Object.keys(changes).length === 0) return before;
    const { rows } = await client.query<KeyRow>(
      `update api_keys set description = $2, limit_period = $3, model_privacy = $4, expires_at = $5, limit_usd = $6,
        limit_diem = $7, limit_vcu = $8, stated_usd = $9, stated_diem = $10, stated_vcu = $11
        where id = $1 returning ${KEY_COLUMNS}`,
      [
        act.keyId,
        after.description,
        after.limitPeriod,
        after.modelPrivacy,
        after.expiresAt,
        ...limitColumns(after.limits),
      ],
    );
    await recordAct(client, { ...act, action: 'key.update', targetId: act.keyId, changes });
    return rows[0] && toKeyRecord(rows[0]);
  });
}

function patched(before: KeyRecord, patch: KeyPatch): KeyRecord {
  const { usd, diem, vcu } = patch.limits ?? {};
  return {
    ...before,
    description: patch.description ?? before.description,
    limitPeriod: patch.limitPeriod ?? before.limitPeriod,
    modelPrivacy: patch.modelPrivacy ?? before.modelPrivacy,
    expiresAt: patch.expiresAt === undefined ? before.expiresAt : patch.expiresAt,
    limits: {
      usd: usd === undefined ? before.limits.usd : usd,
      diem: diem === undefined ? before.limits.diem : diem,
      vcu: vcu === undefined ? before.limits.vcu : vcu,
    },
  };
}

const DEFAULT_OVERLAP_SECONDS = { ADMIN: 0, INFERENCE: 3_600 } as const;

export interface KeyRotation {
  record: KeyRecord;
  /** Only in this answer, never again. */
  secret: string;
  /** Null: the replaced secret became invalid at once. */
  previousWorksUntil: Date | null;
}

/**
 * Gives an active key a new secret. Earlier secrets stay valid for at most `overlapSeconds`: by default an hour, and 0
 * for an ADMIN key, whose old secret could undo the rotation. Undefined when the account has no such key;
 * `invalid_request` when too many replaced secrets would be valid.
 */
export async function rotateKey(
  pool: pg.Pool,
  act: KeyAct,
  wantedOverlapSeconds?: number,
): Promise<KeyRotation | undefined> {
  return await administer(pool, act.accountId, async (client) => {
    const before = await lockActiveKey(client, act);
    if (!before) return undefined;
    const overlapSeconds = wantedOverlapSeconds ?? DEFAULT_OVERLAP_SECONDS[before.keyType];
    const previousWorksUntil = await replaceSecret(client, before, overlapSeconds);
    const secret = newSecret(before.keyType);
    const { rows } = await client.query<KeyRow>(
      `update api_keys set secret_hash = $2, last6 = $3 where id = $1 returning ${KEY_COLUMNS}`,
      [act.keyId, hashSecret(secret), secret.slice(-6)],
    );
    const changes = { overlapSeconds, previousWorksUntil: previousWorksUntil?.toISOString() ?? null };
    await recordAct(client, { ...act, action: 'key.rotate', targetId: act.keyId, changes });
    return rows[0] && { record: toKeyRecord(rows[0]), secret, previousWorksUntil };
  });
}

/** Time until which a replaced secret is valid. The following update of the key notifies all processes. */
async function replaceSecret(client: pg.PoolClient, key: KeyRecord, overlapSeconds: number): Promise<Date | null> {
  await client.query(
    `delete from replaced_secrets where key_id = $1 and works_until < ledger_now() - interval '1 hour'`,
    [key.id],
  );
  const { rows: working } = await client.query(
    `update replaced_secrets set works_until = least(works_until, ledger_now() + $2 * interval '1 second')
      where key_id = $1 and works_until > (select ledger_now()) returning works_until`,
    [key.id, overlapSeconds],
  );
  if (overlapSeconds === 0) return null;
  if (working.length >= MAX_OVERLAPS) {
    throw new FareboxError({
      code: 'invalid_request',
      message: `At most ${MAX_OVERLAPS} replaced secrets of an API key may work at a time. Wait, or rotate with overlapSeconds 0.`,
    });
  }
  const { rows } = await client.query<{ works_until: Date }>(
    `insert into replaced_secrets (secret_hash, key_id, works_until)
      select secret_hash, id, least(ledger_now() + $2 * interval '1 second', expires_at) from api_keys where id = $1
      returning works_until`,
    [key.id, overlapSeconds],
  );
  return rows[0]?.works_until ?? null;
}

/** Revokes an active key with its children; undefined when the account has none with this id. */
export async function endKey(pool: pg.Pool, act: KeyAct): Promise<KeyRecord | undefined> {
  return await administer(pool, act.accountId, async (client) => {
    if (!(await lockActiveKey(client, act))) return undefined;
    return await revoke(client, act);
  });
}

/** For operators: any key, also expired ones. A second call returns the first record and is no act. */
export async function endAnyKey(pool: pg.Pool, keyId: string): Promise<KeyRecord | undefined> {
  const text = `select ${KEY_COLUMNS} from api_keys where id = $1`;
  const { rows } = await pool.query<KeyRow>(text, [keyId]);
  const accountId = rows[0]?.accountId;
  if (accountId === undefined) return undefined;
  return await administer(pool, accountId, async (client) => {
    const { rows: now } = await client.query<KeyRow>(text, [keyId]);
    if (now[0]?.revokedAt) return toKeyRecord(now[0]);
    return await revoke(client, { actor: 'operator', accountId, keyId });
  });
}

async function revoke(client: pg.PoolClient, act: KeyAct): Promise<KeyRecord | undefined> {
  const record = await revokeKey(client, act.keyId);
  const changes = { revokedAt: record?.revokedAt?.toISOString() ?? null };
  await recordAct(client, { ...act, action: 'key.revoke', targetId: act.keyId, changes });
  return record;
}

/** A waiting transaction continues with a new snapshot, which has the acts before it. */
async function administer<T>(
  pool: pg.Pool,
  accountId: string,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  try {
    return await inTransaction(pool, async (client) => {
      await client.query('select from accounts where id = $1 for no key update', [accountId]);
      return await work(client);
    });
  } catch (error) {
    throw asLedgerError(error);
  }
}

async function lockActiveKey(client: pg.PoolClient, key: Omit<KeyAct, 'actor'>): Promise<KeyRecord | undefined> {
  const { rows } = await client.query<KeyRow>(
    `select ${KEY_COLUMNS} from api_keys k where id = $1 and account_id = $2 and ${IS_ACTIVE} for no key update`,
    [key.keyId, key.accountId],
  );
  return rows[0] && toKeyRecord(rows[0]);
}

/** A wallet creates keys without a key: all keys of its account count. */
async function boundCreations(client: pg.PoolClient, accountId: string, all: boolean): Promise<void> {
  const { rows } = await client.query<{ made: number; seconds: number | null }>(
    `select count(*)::int as made,
        extract(epoch from min(created_at) + interval '1 minute' - ledger_now())::float8 as seconds
      from (
        select created_at from api_keys
        where account_id = $1 and (created_by is not null or $2)
          and created_at > (select ledger_now() - interval '1 minute')
        order by created_at desc limit ${MAX_CREATIONS_A_MINUTE}
      ) latest`,
    [accountId, all],
  );
  if ((rows[0]?.made ?? 0) < MAX_CREATIONS_A_MINUTE) return;
  throw new FareboxError({
    code: 'rate_limited',
    message: `At most ${MAX_CREATIONS_A_MINUTE} API keys can be created per minute.`,
    retryAfterSeconds: Math.max(1, rows[0]?.seconds ?? 60),
  });
}

async function boundActiveKeys(client: pg.PoolClient, accountId: string): Promise<void> {
  const { rows } = await client.query<{ active: number }>(
    `select count(*)::int as active from api_keys k where account_id = $1 and ${IS_ACTIVE}`,
    [accountId],
  );
  if ((rows[0]?.active ?? 0) < MAX_ACTIVE_KEYS) return;
  throw new FareboxError({
    code: 'invalid_request',
    message: `An account can have at most ${MAX_ACTIVE_KEYS} active API keys.`,
  });
}

type Facts = Record<string, unknown>;

/** Fields for the audit trail, named as in the API, without the secret. Amounts are exact decimal strings of whole units. */
function keyFacts(record: KeyRecord): Facts {
  const amount = (limit: Nano | null) => (limit === null ? null : formatNano(limit));
  const { usd, diem, vcu } = record.limits;
  return {
    description: record.description,
    'consumptionLimit.usd': amount(usd),
    'consumptionLimit.diem': amount(diem),
    'consumptionLimit.vcu': amount(vcu),
    limitPeriod: record.limitPeriod,
    modelPrivacy: record.modelPrivacy,
    expiresAt: record.expiresAt?.toISOString() ?? null,
  };
}

/** All terms of a new key. */
function newKeyFacts(record: KeyRecord): Facts {
  const { keyType: apiKeyType, models, parentId } = record;
  return { apiKeyType, ...keyFacts(record), models, ...(parentId !== null && { parentId }) };
}

type KeyChanges = Record<string, { from: unknown; to: unknown }>;

/** Changed fields with both values. */
function keyChanges(before: KeyRecord, after: KeyRecord): KeyChanges {
  const old = keyFacts(before);
  const changed = Object.entries(keyFacts(after)).filter(([field, value]) => value !== old[field]);
  return Object.fromEntries(changed.map(([field, to]) => [field, { from: old[field], to }]));
}
