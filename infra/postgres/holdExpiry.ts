/** Expires abandoned holds in the user's favour, and skips those that cannot be ended. */
import { asLedgerError, isRetryable, isUnavailable } from './failures.ts';
import type { Sql, SqlClient } from './pool.ts';
import { runLedgerStatement } from './runLedgerStatement.ts';

/** Position in the order of due holds. */
export interface DueHold {
  operationId: string;
  /** ISO time to the microsecond. */
  expiresAt: string;
}

export interface ExpiredHolds {
  expired: number;
  /** Damaged holds, or those of a damaged account: left unchanged. */
  failed: { operationId: string; error: unknown }[];
}

/**
 * Expires at most `limit` due holds after `after`, oldest first. `last`: start of the next page; undefined at the end.
 * Holds of a locked account stay due.
 */
export async function expireHolds(
  sql: Sql,
  limit: number,
  after?: DueHold,
): Promise<ExpiredHolds & { last: DueHold | undefined }> {
  const due = await runLedgerStatement<{ operation_id: string; expires_at: string }>(sql, {
    name: 'ledger_due_holds',
    text: `select operation_id, expires_at::text from holds
      where expires_at <= ledger_now() and (expires_at, operation_id) > ($2::timestamptz, $3::text)
      order by expires_at, operation_id limit $1`,
    values: [limit, after?.expiresAt ?? '-infinity', after?.operationId ?? ''],
  });
  const last = due.length === limit ? due.at(-1) : undefined;
  const operationIds = due.map((row) => row.operation_id);
  return {
    ...(await onOneConnection(sql, (client) => expireEach(client, operationIds))),
    last: last && { operationId: last.operation_id, expiresAt: last.expires_at },
  };
}

/** A failed statement may still hold its locks when its error arrives; the next one on its connection runs after it. */
async function onOneConnection<T>(sql: Sql, work: (client: SqlClient) => Promise<T>): Promise<T> {
  const client = await sql.connect();
  let isBroken = true;
  try {
    const result = await work(client);
    isBroken = false;
    return result;
  } catch (error) {
    throw asLedgerError(error);
  } finally {
    client.release(isBroken);
  }
}

/** Expires all in one statement; if it fails, each half separately, down to the damaged holds. */
async function expireEach(sql: SqlClient, operationIds: string[]): Promise<ExpiredHolds> {
  if (operationIds.length === 0) return { expired: 0, failed: [] };
  try {
    return await expireTogether(sql, operationIds);
  } catch (error) {
    if (isUnavailable(error) || isRetryable(error)) throw error;
    const [operationId = ''] = operationIds;
    if (operationIds.length === 1) return { expired: 0, failed: [{ operationId, error }] };
    const middle = Math.ceil(operationIds.length / 2);
    const first = await expireEach(sql, operationIds.slice(0, middle));
    const second = await expireEach(sql, operationIds.slice(middle));
    return { expired: first.expired + second.expired, failed: [...first.failed, ...second.failed] };
  }
}

async function expireTogether(sql: SqlClient, operationIds: string[]): Promise<ExpiredHolds> {
  const rows = await runLedgerStatement<{ operation_id: string; outcome: string; replayed: boolean }>(sql, {
    name: 'ledger_expire',
    text: 'select operation_id, outcome, replayed from ledger_expire_unlocked($1)',
    values: [operationIds],
  });
  return {
    expired: rows.filter(({ outcome, replayed }) => outcome === 'expired' && !replayed).length,
    failed: rows
      .filter(({ outcome }) => outcome === 'no_hold')
      .map(({ operation_id }) => ({ operationId: operation_id, error: new Error('it has no operation') })),
  };
}
