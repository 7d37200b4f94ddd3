/**
 * API keys. The secret is shown once and stored as its SHA-256: 256 random bits need no slower hash. A trigger notifies
 * all processes of every change of a key, in the same commit (notify_key_change).
 */
import { createHash, randomBytes } from 'node:crypto';
import { intersectKeyTerms, type KeyTerms, type KeyType, type ModelPrivacy } from '../../domain/caller.ts';
import { FareboxError } from '../../domain/errors.ts';
import { formatSecret } from '../../domain/keySecret.ts';
import type { LimitPeriod } from '../../domain/ledger.ts';
import type { Nano } from '../../domain/money.ts';
import type { SqlClient } from './pool.ts';
import { runLedgerStatement } from './runLedgerStatement.ts';

export interface KeyLimits {
  usd: Nano | null;
  diem: Nano | null;
  vcu: Nano | null;
}

export interface KeyRecord {
  id: string;
  accountId: string;
  /** Parent key: limits and terms of both hold. Null for most. */
  parentId: string | null;
  keyType: KeyType;
  description: string;
  last6: string;
  limits: KeyLimits;
  limitPeriod: LimitPeriod;
  modelPrivacy: ModelPrivacy;
  /** Ids of the models that it may call; null: all that its privacy setting allows. */
  models: string[] | null;
  createdAt: Date;
  expiresAt: Date | null;
  lastUsedAt: Date | null;
  revokedAt: Date | null;
}

export interface NewKey {
  accountId: string;
  keyType: KeyType;
  /** A key of the same account without a parent; the new key is an INFERENCE key. */
  parentId?: string | null;
  /** At most 64 characters. */
  description?: string;
  limits?: Partial<KeyLimits>;
  limitPeriod?: LimitPeriod;
  modelPrivacy?: ModelPrivacy;
  models?: readonly string[] | null;
  expiresAt?: Date | null;
  /** Key that creates it; default: the operator. */
  createdBy?: string;
}

/** `stated…`: the requested limit, if the ledger cannot enforce it. */
export interface KeyRow extends Omit<KeyRecord, 'limits'> {
  limitUsd: string | null;
  limitDiem: string | null;
  limitVcu: string | null;
  statedUsd: string | null;
  statedDiem: string | null;
  statedVcu: string | null;
}

export const KEY_COLUMNS = `id, account_id as "accountId", parent_id as "parentId", key_type as "keyType", description, last6,
  limit_usd as "limitUsd", limit_diem as "limitDiem", limit_vcu as "limitVcu", stated_usd as "statedUsd",
  stated_diem as "statedDiem", stated_vcu as "statedVcu", limit_period as "limitPeriod",
  model_privacy as "modelPrivacy", models, created_at as "createdAt", expires_at as "expiresAt",
  last_used_at as "lastUsedAt", revoked_at as "revokedAt"`;

/** Condition on `api_keys k`: neither it nor its parent is revoked or expired. */
export const IS_ACTIVE = `k.revoked_at is null and (k.expires_at is null or k.expires_at > (select ledger_now()))
  and not exists (select from api_keys p
    where p.id = k.parent_id and (p.revoked_at is not null or p.expires_at <= (select ledger_now())))`;

/** Stored form of a secret. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** Creates a key; its secret is only in this answer. */
export async function createKey(sql: SqlClient, request: NewKey): Promise<{ record: KeyRecord; secret: string }> {
  const secret = newSecret(request.keyType);
  const rows = await runLedgerStatement<KeyRow>(sql, {
    name: 'key_create',
    text: `insert into api_keys (account_id, secret_hash, key_type, description, last6, limit_period, model_privacy,
        expires_at, models, created_by, parent_id, limit_usd, limit_diem, limit_vcu, stated_usd, stated_diem, stated_vcu)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) returning ${KEY_COLUMNS}`,
    values: [
      request.accountId,
      hashSecret(secret),
      request.keyType,
      request.description ?? '',
      secret.slice(-6),
      request.limitPeriod ?? 'EPOCH',
      request.modelPrivacy ?? 'ALL',
      request.expiresAt ?? null,
      request.models ?? null,
      request.createdBy ?? null,
      request.parentId ?? null,
      ...limitColumns({ usd: null, diem: null, vcu: null, ...request.limits }),
    ],
  });
  const row = rows[0];
  if (!row) {
    throw new FareboxError({ code: 'internal', message: 'Internal server error', internal: 'no key row' });
  }
  return { record: toKeyRecord(row), secret };
}

export function newSecret(keyType: KeyType): string {
  return formatSecret(keyType, randomBytes(32));
}

/** Highest limit that the ledger can enforce; more than any account can have. */
const MAX_LIMIT: Nano = 2n ** 63n - 1n;

/** Values of limit_usd, limit_diem, limit_vcu, stated_usd, stated_diem and stated_vcu. */
export function limitColumns({ usd, diem, vcu }: KeyLimits): (string | null)[] {
  const limits = [usd, diem, vcu];
  const beyond = (limit: Nano | null) => limit !== null && limit > MAX_LIMIT;
  return [
    ...limits.map((limit) => (beyond(limit) ? MAX_LIMIT : limit)?.toString() ?? null),
    ...limits.map((limit) => (beyond(limit) ? limit : null)?.toString() ?? null),
  ];
}

/** Unrevoked keys of an account with unrevoked parents, newest first, at most `limit` (1,000 by default). */
export async function listKeys(sql: SqlClient, accountId: string, limit = 1_000): Promise<KeyRecord[]> {
  const rows = await runLedgerStatement<KeyRow>(sql, {
    name: 'key_list',
    text: `select ${KEY_COLUMNS} from api_keys k where account_id = $1 and revoked_at is null
      and not exists (select from api_keys p where p.id = k.parent_id and p.revoked_at is not null)
      order by created_at desc, id limit $2`,
    values: [accountId, limit],
  });
  return rows.map(toKeyRecord);
}

/** Revokes a key. Undefined when there is no such key; a second call returns the first record. */
export async function revokeKey(sql: SqlClient, keyId: string): Promise<KeyRecord | undefined> {
  const rows = await runLedgerStatement<KeyRow>(sql, {
    name: 'key_revoke',
    text: `update api_keys set revoked_at = coalesce(revoked_at, ledger_now()) where id = $1 returning ${KEY_COLUMNS}`,
    values: [keyId],
  });
  return rows[0] && toKeyRecord(rows[0]);
}

/** Data of a key for authentication, whatever its state. */
export interface FoundKey extends KeyTerms {
  keyId: string;
  accountId: string;
  keyType: KeyType;
  /** Time at which this secret becomes invalid: the expiry of the key or of its parent, or the end of a rotation. */
  expiresAt: Date | null;
  /** Revoked: the key or its parent. */
  revoked: boolean;
  accountActive: boolean;
  /** Time of the read, by the database's clock. */
  readAt: Date;
}

interface FoundRow {
  id: string;
  account_id: string;
  key_type: KeyType;
  model_privacy: ModelPrivacy;
  models: string[] | null;
  expires_at: Date | null;
  revoked_at: Date | null;
  read_at: Date;
  status: string;
  parent_privacy: ModelPrivacy | null;
  parent_models: string[] | null;
  parent_expires_at: Date | null;
  parent_revoked_at: Date | null;
}

/** One lookup by unique index, and a second one only for a secret that is not the present one of a key. */
export async function findKey(sql: SqlClient, secretHash: Buffer): Promise<FoundKey | undefined> {
  const rows = await runLedgerStatement<FoundRow>(sql, {
    name: 'key_find',
    text: `select k.id, k.account_id, k.key_type, k.model_privacy, k.models, k.revoked_at, a.status,
        least(k.expires_at, s.works_until) as expires_at, p.model_privacy as parent_privacy,
        p.models as parent_models, p.expires_at as parent_expires_at, p.revoked_at as parent_revoked_at,
        ledger_now() as read_at
      from (
        (select id, null::timestamptz as works_until from api_keys where secret_hash = $1)
        union all (select key_id, works_until from replaced_secrets where secret_hash = $1)
        limit 1
      ) s
      join api_keys k on k.id = s.id join accounts a on a.id = k.account_id
      left join api_keys p on p.id = k.parent_id`,
    values: [secretHash],
  });
  const row = rows[0];
  return (
    row && {
      keyId: row.id,
      accountId: row.account_id,
      keyType: row.key_type,
      ...termsOf(row),
      revoked: row.revoked_at !== null || row.parent_revoked_at !== null,
      accountActive: row.status === 'active',
      readAt: row.read_at,
    }
  );
}

/** Whether an accepted key is still valid: for long answers. */
export async function isKeyActive(sql: SqlClient, keyId: string): Promise<boolean> {
  const rows = await runLedgerStatement<object>(sql, {
    name: 'key_stands',
    text: `select from api_keys k join accounts a on a.id = k.account_id left join api_keys p on p.id = k.parent_id
      where k.id = $1 and a.status = 'active' and k.revoked_at is null and p.revoked_at is null
        and least(k.expires_at, p.expires_at, 'infinity') > ledger_now()`,
    values: [keyId],
  });
  return rows.length === 1;
}

function termsOf(row: FoundRow): KeyTerms {
  const own = { modelPrivacy: row.model_privacy, models: row.models, expiresAt: row.expires_at };
  if (row.parent_privacy === null) return own;
  const { parent_privacy: modelPrivacy, parent_models: models, parent_expires_at: expiresAt } = row;
  return intersectKeyTerms(own, { modelPrivacy, models, expiresAt });
}

/**
 * Records when keys were last used; an older time changes nothing. Rows are locked in the order of their ids, so that
 * processes do not deadlock.
 */
export async function noteKeyUse(sql: SqlClient, uses: ReadonlyMap<string, Date>): Promise<void> {
  await runLedgerStatement(sql, {
    name: 'key_note_use',
    text: `with uses as (select * from unnest($1::uuid[], $2::timestamptz[]) as u (id, at)),
      locked as (select k.id from api_keys k join uses u on u.id = k.id order by k.id for no key update of k)
      update api_keys k set last_used_at = u.at from uses u join locked l on l.id = u.id
      where k.id = u.id and (k.last_used_at is null or k.last_used_at < u.at)`,
    values: [[...uses.keys()], [...uses.values()]],
  });
}

export function toKeyRecord(row: KeyRow): KeyRecord {
  const { limitUsd, limitDiem, limitVcu, statedUsd, statedDiem, statedVcu, ...record } = row;
  return {
    ...record,
    limits: {
      usd: toNano(statedUsd ?? limitUsd),
      diem: toNano(statedDiem ?? limitDiem),
      vcu: toNano(statedVcu ?? limitVcu),
    },
  };
}

function toNano(column: string | null): Nano | null {
  return column === null ? null : BigInt(column);
}
