/** Idempotency-Key of the queue routes: one queue_id per account and key, the body compared by its digest. */
import { type PurgePage, purgePage, type SqlClient } from './pool.ts';

export interface IdempotencyClaim {
  accountId: string;
  /** API key of the request; null: none. */
  keyId: string | null;
  /** Only orders of this key and its children are visible; null: all of the account. */
  visibleTo: string | null;
  key: string;
  route: string;
  bodySha256: Buffer;
  /** The queue_id to use when the key is new. */
  queueId: string;
}

export type ClaimOutcome =
  | { outcome: 'new' | 'known'; queueId: string }
  | { outcome: 'mismatch' }
  /** The key belongs to another API key's order. */
  | { outcome: 'foreign' };

function isVisibleTo(parameter: string): string {
  return `${parameter}::uuid is null or key_id is null or key_id = ${parameter}
    or exists (select from api_keys k where k.id = key_id and k.parent_id = ${parameter})`;
}

/** Claims a key, or returns its earlier order. A concurrent request waits for the row and then reads it. */
export async function claimIdempotencyKey(sql: SqlClient, claim: IdempotencyClaim): Promise<ClaimOutcome> {
  const inserted = await sql.query(
    `insert into idempotency_keys (account_id, key, route, body_sha256, queue_id, key_id)
     values ($1, $2, $3, $4, $5, $6) on conflict (account_id, key) do nothing`,
    [claim.accountId, claim.key, claim.route, claim.bodySha256, claim.queueId, claim.keyId],
  );
  if (inserted.rowCount === 1) return { outcome: 'new', queueId: claim.queueId };
  const { rows } = await sql.query<{ queue_id: string; same: boolean; visible: boolean }>(
    `select queue_id, route = $3 and body_sha256 = $4 as same, ${isVisibleTo('$5')} as visible
       from idempotency_keys where account_id = $1 and key = $2`,
    [claim.accountId, claim.key, claim.route, claim.bodySha256, claim.visibleTo],
  );
  const row = rows[0];
  // Deleted between the two statements: the claim is new after all.
  if (!row) return claimIdempotencyKey(sql, claim);
  if (!row.visible) return { outcome: 'foreign' };
  if (!row.same) return { outcome: 'mismatch' };
  return { outcome: 'known', queueId: row.queue_id };
}

/** After a refusal the key can be used again: replaces the queue_id unless another request did. */
export async function renewIdempotencyKey(
  sql: SqlClient,
  claim: { accountId: string; key: string; fromQueueId: string; toQueueId: string },
): Promise<string | undefined> {
  await sql.query(
    `update idempotency_keys set queue_id = $4
      where account_id = $1 and key = $2 and queue_id = $3`,
    [claim.accountId, claim.key, claim.fromQueueId, claim.toQueueId],
  );
  return await findClaimedOrder(sql, { ...claim, visibleTo: null });
}

/** queue_id of a key, if it is visible. */
export async function findClaimedOrder(
  sql: SqlClient,
  { accountId, key, visibleTo }: Pick<IdempotencyClaim, 'accountId' | 'key' | 'visibleTo'>,
): Promise<string | undefined> {
  const { rows } = await sql.query<{ queue_id: string }>(
    `select queue_id from idempotency_keys where account_id = $1 and key = $2 and (${isVisibleTo('$3')})`,
    [accountId, key, visibleTo],
  );
  return rows[0]?.queue_id;
}

/** Deletes a page of keys older than 24 hours; returns their number. */
export async function purgeIdempotencyKeys(sql: SqlClient, page: PurgePage): Promise<number> {
  return await purgePage(sql, { table: 'idempotency_keys', column: 'created_at' }, page);
}
