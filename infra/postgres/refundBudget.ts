/**
 * Refund budget of an account: refunds of a UTC day for work that the operator pays its provider for, because the
 * client cancelled or left (`limits.refundedPerDay`).
 */
import type { Nano } from '../../domain/money.ts';
import type { SqlClient } from './pool.ts';

export interface RefundedSpend {
  accountId: string;
  /** List price in nano USD. */
  usd: Nano;
}

export interface CountedSpend extends RefundedSpend {
  /** UTC day whose budget contains the amount. */
  day: string;
}

/**
 * Takes an amount from today's budget, or nothing: undefined when less is left. Runs in the transaction of the refund,
 * before it, and locks the account as every change of its money does.
 */
export async function takeRefundBudget(
  client: SqlClient,
  { accountId, usd }: RefundedSpend,
  perDay: Nano,
): Promise<CountedSpend | undefined> {
  await client.query('select from accounts where id = $1 for no key update', [accountId]);
  const { rows } = await client.query<{ day: string }>(
    `insert into refunded_days as known (account_id, day, usd)
       select $1, ${TODAY}, $2::bigint where $2::bigint <= $3::bigint
     on conflict (account_id, day) do update set usd = known.usd + excluded.usd
       where known.usd + excluded.usd <= $3::bigint
     returning day::text`,
    [accountId, usd.toString(), perDay.toString()],
  );
  const [row] = rows;
  return row && { accountId, usd, day: row.day };
}

/** Returns the amount to the budget of its day, when the provider reports afterwards that it stopped. */
export async function returnRefundBudget(sql: SqlClient, { accountId, usd, day }: CountedSpend): Promise<void> {
  await sql.query(
    'update refunded_days set usd = greatest(0, usd - $2::bigint) where account_id = $1 and day = $3::date',
    [accountId, usd.toString(), day],
  );
}

const TODAY = "(ledger_now() at time zone 'UTC')::date";
