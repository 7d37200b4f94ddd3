/** Acts of the operator on whole accounts, each in one transaction with its row of the audit trail. */
import type pg from 'pg';
import { type AuditAction, recordAct } from './audit.ts';
import { inTransaction } from './pool.ts';

export type AccountAct =
  | { outcome: 'done' }
  /** Already in that state: no act. */
  | { outcome: 'unchanged' }
  | { outcome: 'unknown' }
  /** Reason of the refusal, for the operator. */
  | { outcome: 'refused'; reason: string };

interface AccountStatus {
  status: 'active' | 'suspended';
  isErased: boolean;
}

/** Every process refuses its keys and wallet at once, by the notification of the commit. */
export async function suspendAccount(pool: pg.Pool, accountId: string): Promise<AccountAct> {
  return await changeStatus(pool, accountId, 'suspended');
}

/** Ends a suspension, except that of an erased account. */
export async function resumeAccount(pool: pg.Pool, accountId: string): Promise<AccountAct> {
  return await changeStatus(pool, accountId, 'active');
}

async function changeStatus(pool: pg.Pool, accountId: string, status: AccountStatus['status']): Promise<AccountAct> {
  return await inTransaction(pool, async (client) => {
    const standing = await lockAccount(client, accountId);
    if (!standing) return { outcome: 'unknown' };
    if (standing.status === status) return { outcome: 'unchanged' };
    if (standing.isErased) return { outcome: 'refused', reason: 'its personal data was erased' };
    await client.query('update accounts set status = $2 where id = $1', [accountId, status]);
    const action = status === 'suspended' ? 'account.suspend' : 'account.resume';
    await record(client, { accountId, action, changes: { status } });
    return { outcome: 'done' };
  });
}

/**
 * Removes the personal data of a suspended account and revokes its keys. Ledger entries, payments and the link to a
 * wallet stay: without the link the next sign-in of its owner would open the account again. Refused while the account
 * has open work.
 */
export async function eraseAccount(pool: pg.Pool, accountId: string): Promise<AccountAct> {
  return await inTransaction(pool, async (client) => {
    const standing = await lockAccount(client, accountId);
    if (!standing) return { outcome: 'unknown' };
    if (standing.isErased) return { outcome: 'unchanged' };
    if (standing.status !== 'suspended') return { outcome: 'refused', reason: 'suspend it first' };
    const underWay = await countUnderWay(client, accountId);
    if (underWay > 0) {
      return { outcome: 'refused', reason: `${underWay} of its jobs, holds or payments are under way` };
    }
    const counts: Record<string, number> = {};
    for (const [name, text] of ERASURES) {
      counts[name] = (await client.query(text, [accountId])).rowCount ?? 0;
    }
    await client.query('select erase_audit($1)', [accountId]);
    await record(client, { accountId, action: 'account.erase', changes: counts });
    return { outcome: 'done' };
  });
}

async function countUnderWay(client: pg.PoolClient, accountId: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select ((select count(*) from jobs where account_id = $1 and state in ('accepted', 'submitted'))
      + (select count(*) from holds where account_id = $1)
      + (select count(*) from top_ups where account_id = $1 and state not in ('credited', 'failed', 'wrong')))::int as count`,
    [accountId],
  );
  return rows[0]?.count ?? 0;
}

const OF_ITS_JOBS = 'queue_id in (select queue_id from jobs where account_id = $1)';

/** Counts for the audit trail. The next maintenance removes stored media, as if their retention had ended. */
const ERASURES: readonly [string, string][] = [
  ['accounts', `update accounts set name = 'erased', erased_at = ledger_now() where id = $1`],
  [
    'keys',
    `update api_keys set description = '', revoked_at = coalesce(revoked_at, ledger_now()) where account_id = $1`,
  ],
  ['replacedSecrets', 'delete from replaced_secrets where key_id in (select id from api_keys where account_id = $1)'],
  ['webhooks', 'delete from job_webhooks where account_id = $1'],
  ['webhookSecrets', 'delete from webhook_secrets where account_id = $1'],
  ['voices', 'delete from cloned_voices where account_id = $1'],
  ['keptAnswers', 'delete from rpc_answers where account_id = $1'],
  ['idempotencyKeys', 'delete from idempotency_keys where account_id = $1'],
  ['jobEvents', `update job_events set detail = null where ${OF_ITS_JOBS} and detail is not null`],
  [
    'jobs',
    `update jobs set suggested_prompt = null, failure_message = null, operation = null where account_id = $1
      and (suggested_prompt, failure_message, operation) is distinct from (null, null, null)`,
  ],
  ['storedMedia', `update jobs set media_expires_at = '-infinity' where account_id = $1 and state = 'stored'`],
];

async function lockAccount(client: pg.PoolClient, accountId: string): Promise<AccountStatus | undefined> {
  const { rows } = await client.query<AccountStatus>(
    `select status, erased_at is not null as "isErased" from accounts where id = $1 for no key update`,
    [accountId],
  );
  return rows[0];
}

async function record(
  client: pg.PoolClient,
  act: { accountId: string; action: AuditAction; changes: Record<string, unknown> },
): Promise<void> {
  await recordAct(client, { ...act, actor: 'operator', targetId: act.accountId });
}
