/** Movements of a wallet's dollars, newest first, with the balance after each (WALLET-16). */
import type { Nano } from '../../domain/money.ts';
import type { SqlClient } from './pool.ts';
import { runLedgerStatement } from './runLedgerStatement.ts';

export const WALLET_TRANSACTION_TYPES = ['TOP_UP', 'CHARGE', 'REFUND'] as const;

export interface WalletTransaction {
  /** Id of the ledger transfer, decimal. */
  id: string;
  type: (typeof WALLET_TRANSACTION_TYPES)[number];
  /** Below zero for a charge. */
  amountNano: Nano;
  /** Balance after it, including held funds. */
  balanceAfterNano: Nano;
  createdAt: Date;
  requestId: string | null;
  /** Null for no model or several. */
  modelId: string | null;
}

type RawTransaction = Omit<WalletTransaction, 'amountNano' | 'balanceAfterNano'> &
  Record<'amountNano' | 'balanceAfterNano', string>;

const REQUEST = (row: string) => `(coalesce(${row}.sold, ${row}.details) ->> 'requestId')`;
const MODEL = (row: string) => `(coalesce(${row}.sold, ${row}.details) ->> 'modelId')`;
const IN_DOLLARS = `currency in ('usd', 'bundled')`;

/**
 * Bundled credit counts as dollars. Grants and positive adjustments count as top-ups, negative ones as charges. The
 * refunds of one request are one row, at the place of the last one.
 *
 * Balances are computed backwards from the present one: a page costs only the rows that it shows and skips.
 */
export const TRANSACTIONS = `with booked as (
    select t.*, a.usd_posted + a.bundled_posted - coalesce(sum(t.amount) over (
        order by t.created_at desc, t.id desc rows between unbounded preceding and 1 preceding), 0) as balance
    from accounts a join transfers t on t.account_id = a.id
    where a.id = $1 and t.account_id = $1 and t.${IN_DOLLARS}
  ), page as (
    select b.* from booked b
    where b.kind <> 'refund' or ${REQUEST('b')} is null or not exists (
      select from transfers n where n.account_id = $1 and n.kind = 'refund' and ${REQUEST('n')} = ${REQUEST('b')}
        and n.${IN_DOLLARS} and (n.created_at, n.id) > (b.created_at, b.id))
    order by b.created_at desc, b.id desc limit $2 offset $3
  )
  select p.id::text, p.created_at as "createdAt", coalesce(r.amount, p.amount)::text as "amountNano",
    p.balance::text as "balanceAfterNano",
    case when p.kind in ('charge', 'refund') then upper(p.kind) when p.amount > 0 then 'TOP_UP' else 'CHARGE' end as type,
    ${REQUEST('p')} as "requestId",
    case when r.amount is null then ${MODEL('p')} else r.model_id end as "modelId"
  from page p left join lateral (
    select sum(n.amount) as amount,
      case when count(distinct coalesce(${MODEL('n')}, '')) = 1 then min(${MODEL('n')}) end as model_id
    from transfers n
    where p.kind = 'refund' and n.account_id = $1 and n.kind = 'refund' and ${REQUEST('n')} = ${REQUEST('p')}
      and n.${IN_DOLLARS}
  ) r on true
  order by p.created_at desc, p.id desc`;

export async function walletTransactions(
  sql: SqlClient,
  { accountId, limit, offset }: { accountId: string; limit: number; offset: number },
): Promise<WalletTransaction[]> {
  const rows = await runLedgerStatement<RawTransaction>(sql, {
    name: 'wallet_transactions',
    text: TRANSACTIONS,
    values: [accountId, limit, offset],
    planned: 'each time',
  });
  return rows.map((row) => ({
    ...row,
    amountNano: BigInt(row.amountNano),
    balanceAfterNano: BigInt(row.balanceAfterNano),
  }));
}
