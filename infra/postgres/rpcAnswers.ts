/**
 * Idempotency-Key of the JSON-RPC proxy: one request and one answer per account and key, for 24 hours. A request writes
 * a claim before it asks a node. An expired lease shows that the process of a claim died.
 */
import { type PurgePage, purgePage, type SqlClient } from './pool.ts';

export interface AnswerKey {
  accountId: string;
  key: string;
}

export interface NewClaim extends AnswerKey {
  /** SHA-256 of the network and the canonical calls, which must be the same for a key. */
  digest: Buffer;
  /** UUID of this request. */
  owner: string;
  operationId: string;
  leaseMs: number;
  lifeMs: number;
}

export interface KeptAnswer {
  status: number;
  /** Undefined: too large to keep. */
  body: Buffer | undefined;
  credits: number;
  requestId: string;
  cached: string | undefined;
}

export type AnswerClaim =
  /** `attempt` above 1: an earlier one may have asked a node, with unknown outcome. */
  | { outcome: 'mine'; operationId: string; attempt: number }
  | { outcome: 'answered'; answer: KeptAnswer }
  /** Another request holds the claim. */
  | { outcome: 'busy' }
  | { outcome: 'mismatch' };

const CLAIM = `
insert into rpc_answers as known (account_id, key, digest, owner, leased_until, operation_id)
values ($1, $2, $3, $4, clock_timestamp() + $5 * interval '1 millisecond', $6)
on conflict (account_id, key) do update set
  owner = excluded.owner,
  leased_until = excluded.leased_until,
  digest = excluded.digest,
  attempt = case when known.created_at < clock_timestamp() - $7 * interval '1 millisecond'
    and (known.status is not null or known.digest <> excluded.digest) then 1 else known.attempt + 1 end,
  operation_id = case when known.created_at < clock_timestamp() - $7 * interval '1 millisecond'
    then excluded.operation_id else known.operation_id end,
  created_at = case when known.created_at < clock_timestamp() - $7 * interval '1 millisecond'
    then excluded.created_at else known.created_at end,
  status = null, body = null, body_bytes = null, credits = null, request_id = null, cached = null
where (known.created_at < clock_timestamp() - $7 * interval '1 millisecond'
    and (known.status is not null or known.leased_until < clock_timestamp()))
  or (known.status is null and known.leased_until < clock_timestamp() and known.digest = excluded.digest)
returning operation_id, attempt`;

/** Exactly one of concurrent callers gets the claim. */
export async function claimAnswer(sql: SqlClient, claim: NewClaim): Promise<AnswerClaim> {
  const { accountId, key, digest, owner, leaseMs, operationId, lifeMs } = claim;
  const { rows } = await sql.query<{ operation_id: string; attempt: number }>({
    name: 'rpc_claim',
    text: CLAIM,
    values: [accountId, key, digest, owner, leaseMs, operationId, lifeMs],
  });
  const [mine] = rows;
  if (mine) return { outcome: 'mine', operationId: mine.operation_id, attempt: mine.attempt };
  // No row: the claim was deleted meanwhile, and the next attempt finds the key free.
  return (await lookUp(sql, { accountId, key, digest })) ?? { outcome: 'busy' };
}

interface AnswerRow {
  same: boolean;
  abandoned: boolean;
  status: number | null;
  body: Buffer | null;
  credits: string | null;
  request_id: string | null;
  cached: string | null;
}

async function lookUp(
  sql: SqlClient,
  { accountId, key, digest }: Pick<NewClaim, 'accountId' | 'key' | 'digest'>,
): Promise<AnswerClaim | undefined> {
  const { rows } = await sql.query<AnswerRow>({
    name: 'rpc_answer',
    text: `select digest = $3 as same, leased_until < clock_timestamp() as abandoned, status, body, credits, request_id, cached
      from rpc_answers where account_id = $1 and key = $2`,
    values: [accountId, key, digest],
  });
  const [row] = rows;
  if (!row) return undefined;
  if (!row.same) return { outcome: 'mismatch' };
  if (row.status === null) return { outcome: 'busy' };
  const answer = {
    status: row.status,
    body: row.body ?? undefined,
    credits: Number(row.credits),
    requestId: row.request_id ?? '',
    cached: row.cached ?? undefined,
  };
  return { outcome: 'answered', answer };
}

/** Whether a claim still blocks the key: false when it was answered, dropped or abandoned. */
export async function isClaimHeld(sql: SqlClient, { accountId, key }: AnswerKey): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'rpc_claim_held',
    text: `select from rpc_answers
      where account_id = $1 and key = $2 and status is null and leased_until >= clock_timestamp()`,
    values: [accountId, key],
  });
  return rowCount === 1;
}

/** Whether a request with this key was answered, or may have been, within the lifetime of an answer. */
export async function isKeyKnown(
  sql: SqlClient,
  { accountId, key, lifeMs }: AnswerKey & { lifeMs: number },
): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'rpc_key_known',
    text: `select from rpc_answers where account_id = $1 and key = $2
      and created_at >= clock_timestamp() - $3 * interval '1 millisecond'`,
    values: [accountId, key, lifeMs],
  });
  return rowCount === 1;
}

export interface OwnClaim extends AnswerKey {
  owner: string;
}

/** False: another request has taken the claim over. */
export async function renewClaim(sql: SqlClient, claim: OwnClaim, leaseMs: number): Promise<boolean> {
  return await changeOwn(sql, claim, {
    set: `leased_until = clock_timestamp() + $4 * interval '1 millisecond'`,
    values: [leaseMs],
  });
}

/** Sets the id of the next charge: the charge under the previous id was refunded. */
export async function renameCharge(sql: SqlClient, claim: OwnClaim, operationId: string): Promise<boolean> {
  return await changeOwn(sql, claim, { set: 'operation_id = $4', values: [operationId] });
}

/** Ends the lease and keeps the claim, so that the next request learns that a node may have been asked. */
export async function abandonClaim(sql: SqlClient, claim: OwnClaim): Promise<boolean> {
  return await changeOwn(sql, claim, {
    set: `leased_until = clock_timestamp() - interval '1 second'`,
    values: [],
  });
}

/** Frees the key. */
export async function dropClaim(sql: SqlClient, claim: OwnClaim): Promise<void> {
  await sql.query('delete from rpc_answers where account_id = $1 and key = $2 and owner = $3 and status is null', [
    claim.accountId,
    claim.key,
    claim.owner,
  ]);
}

/** Answers up to this size are always kept; the index counts larger ones. */
const SMALL_BYTES = 4_096;
/** Total size of the larger answers kept for an account. */
const MAX_LARGE_BYTES = 64 * 1024 * 1024;

/** False: another request took the claim over. Above the account's total the body is not kept. */
export async function keepAnswer(sql: SqlClient, claim: OwnClaim, answer: KeptAnswer): Promise<boolean> {
  const { status, body, credits, requestId, cached } = answer;
  return await changeOwn(sql, claim, {
    set: `status = $4, credits = $5, request_id = $6, cached = $7, body_bytes = length($8::bytea),
      body = case when length($8::bytea) <= ${SMALL_BYTES} or length($8::bytea) + (
        select coalesce(sum(kept.body_bytes), 0) from rpc_answers kept
         where kept.account_id = $1 and kept.body_bytes > ${SMALL_BYTES} and kept.body is not null
      ) <= ${MAX_LARGE_BYTES} then $8::bytea end`,
    values: [status, credits, requestId, cached ?? null, body ?? null],
  });
}

async function changeOwn(
  sql: SqlClient,
  { accountId, key, owner }: OwnClaim,
  { set, values }: { set: string; values: unknown[] },
): Promise<boolean> {
  const { rowCount } = await sql.query(
    `update rpc_answers set ${set} where account_id = $1 and key = $2 and owner = $3 and status is null`,
    [accountId, key, owner, ...values],
  );
  return rowCount === 1;
}

/** Deletes a page of expired answers; returns their number. */
export async function purgeRpcAnswers(sql: SqlClient, page: PurgePage): Promise<number> {
  const condition = '(status is not null or leased_until < clock_timestamp())';
  return await purgePage(sql, { table: 'rpc_answers', column: 'created_at', condition }, page);
}
