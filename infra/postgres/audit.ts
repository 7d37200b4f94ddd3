/**
 * Audit trail: every administrative act with its actor, in the transaction of the act. Append-only: the services' role
 * cannot change or delete a row (infra/postgres/migrations/0001_schema.sql).
 */
import { storableJson } from './ledgerRows.ts';
import type { SqlClient } from './pool.ts';
import { runLedgerStatement } from './runLedgerStatement.ts';

/** Actor: an ADMIN key, a wallet (by its address), or the operator on the command line. */
export type Actor = 'operator' | { keyId: string; requestId: string } | { wallet: string; requestId: string };

export const AUDIT_ACTIONS = [
  'account.create',
  'account.suspend',
  'account.resume',
  'account.erase',
  'credit.grant',
  'credit.adjust',
  'key.create',
  'key.update',
  'key.rotate',
  'key.revoke',
  'webhook_secret.rotate',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export interface AuditedAct {
  accountId: string;
  actor: Actor;
  action: AuditAction;
  /** Key, account or operation that was changed. */
  targetId: string;
  /** Changes as JSON: amounts as decimal strings, times in ISO form, never a secret or its hash. */
  changes: Record<string, unknown>;
}

export interface AuditEvent {
  /** Decimal digits; later acts of an account have higher ones. */
  id: string;
  createdAt: Date;
  /** The id of an API key, the address of a wallet, or `operator`. */
  actor: string;
  action: AuditAction;
  targetId: string;
  /** Null for acts outside HTTP. */
  requestId: string | null;
  changes: Record<string, unknown>;
}

/** Call it with the client of the act's transaction: neither is ever visible without the other. */
export async function recordAct(client: SqlClient, act: AuditedAct): Promise<void> {
  const { actor } = act;
  await runLedgerStatement(client, {
    name: 'audit_record',
    text: `insert into audit_events (account_id, actor, action, target_id, request_id, changes)
      values ($1, $2, $3, $4, $5, $6)`,
    values: [
      act.accountId,
      nameOf(actor),
      act.action,
      act.targetId,
      actor === 'operator' ? null : actor.requestId,
      storableJson(act.changes),
    ],
  });
}

function nameOf(actor: Actor): string {
  if (actor === 'operator') return actor;
  return 'wallet' in actor ? actor.wallet : actor.keyId;
}

export interface AuditPage {
  accountId: string;
  limit: number;
  /** Id of the last act on the previous page. */
  before?: string;
}

/** Acts of one account, newest first. Undefined when `before` is no act of this account. */
export async function listActs(sql: SqlClient, page: AuditPage): Promise<AuditEvent[] | undefined> {
  if (page.before !== undefined && !(await isKnown(sql, page.accountId, page.before))) return undefined;
  return await runLedgerStatement<AuditEvent>(sql, {
    name: 'audit_list',
    text: `select id, created_at as "createdAt", actor, action, target_id as "targetId", request_id as "requestId", changes
      from audit_events where account_id = $1 and ($2::bigint is null or id < $2) order by id desc limit $3`,
    values: [page.accountId, page.before ?? null, page.limit],
  });
}

async function isKnown(sql: SqlClient, accountId: string, id: string): Promise<boolean> {
  const rows = await runLedgerStatement(sql, {
    name: 'audit_known',
    text: 'select from audit_events where account_id = $1 and id = $2',
    values: [accountId, id],
  });
  return rows.length === 1;
}
