/** What happened to a wallet's dollars, newest first, with the balance after each (api-facts 10.6). */
import type { Nano } from '../../domain/money.ts';
import type { SqlClient } from './pool.ts';
import { runLedgerStatement } from './runLedgerStatement.ts';

export const WALLET_TRANSACTION_TYPES = ['TOP_UP', 'CHARGE', 'REFUND'] as const;

export interface WalletTransaction {
  /** Of the ledger's transfer, decimal. */
  id: string;
  type: (typeof WALLET_TRANSACTION_TYPES)[number];
  /** Below zero for a charge. */
  amountNano: Nano;
  /** What the account had when it was booked, what was held included. */
  balanceAfterNano: Nano;
  createdAt: Date;
  requestId: string | null;
  /** Null where it is of none, or of several. */
  modelId: string | null;
}

interface RawTransaction {
  id: string;
  type: WalletTransaction['type'];
  amount: string;
  balance: string;
  created_at: Date;
  request_id: string | null;
  model_id: string | null;
}

/**
 * Bundled credit is in dollars and counts as such. What an operator gave counts as a top-up, what one took as a charge. The
 * refunds of one request are one row, where and when the last of them was booked.
 */
const TEXT = `with booked as (
    select id, created_at, amount,
      case when kind in ('charge', 'refund') then kind when amount > 0 then 'top_up' else 'charge' end as kind,
      coalesce(sold, details) ->> 'requestId' as request_id, coalesce(sold, details) ->> 'modelId' as model_id,
      sum(amount) over (order by created_at, id) as balance
    from transfers where account_id = $1 and currency in ('usd', 'bundled')
  ), rows as (
    select id, created_at, upper(kind) as type, amount, balance, request_id, model_id
    from booked where kind <> 'refund' or request_id is null
    union all
    select max(id), max(created_at), 'REFUND', sum(amount), (array_agg(balance order by created_at desc, id desc))[1],
      request_id, case when count(distinct coalesce(model_id, '')) = 1 then min(model_id) end
    from booked where kind = 'refund' and request_id is not null group by request_id
  )
  select id::text, type, amount::text, balance::text, created_at, request_id, model_id
  from rows order by created_at desc, id desc limit $2 offset $3`;

export async function walletTransactions(
  sql: SqlClient,
  { accountId, limit, offset }: { accountId: string; limit: number; offset: number },
): Promise<WalletTransaction[]> {
  const rows = await runLedgerStatement<RawTransaction>(sql, {
    name: 'wallet_transactions',
    text: TEXT,
    values: [accountId, limit, offset],
  });
  return rows.map((row) => ({
    id: row.id,
    type: row.type,
    amountNano: BigInt(row.amount),
    balanceAfterNano: BigInt(row.balance),
    createdAt: row.created_at,
    requestId: row.request_id,
    modelId: row.model_id,
  }));
}
