/**
 * Active keys with their spending: sums of the ledger's days per key, charges less refunds, bundled credit as usd. Days
 * of a parent include its children.
 */
import type { Nano } from '../../domain/money.ts';
import { IS_ACTIVE, KEY_COLUMNS, type KeyRecord, type KeyRow, toKeyRecord } from './keys.ts';
import type { SqlClient } from './pool.ts';
import { runLedgerStatement } from './runLedgerStatement.ts';

export interface KeySpending {
  usd: Nano;
  diem: Nano;
}

export interface KeyWithUsage extends KeyRecord {
  /** Today (UTC) and the six days before it. */
  sevenDays: KeySpending;
  /** Spending that counts towards the limit of the key now. */
  period: KeySpending;
}

interface KeyUsageRow extends KeyRow {
  usd_week: string;
  diem_week: string;
  usd_period: string;
  diem_period: string;
}

/** Keys of an account that are valid, with valid parents, newest first; with `keyId` only that one. */
export async function activeKeys(
  sql: SqlClient,
  which: { accountId: string; keyId?: string },
): Promise<KeyWithUsage[]> {
  const rows = await runLedgerStatement<KeyUsageRow>(sql, {
    name: 'key_usage',
    text: `with clock as materialized (select (ledger_now() at time zone 'UTC')::date as today)
      select ${KEY_COLUMNS}, usd_week, diem_week, usd_period, diem_period
      from clock cross join api_keys k
      cross join lateral (select case
        when k.limit_usd is null and k.limit_diem is null then today
        else ledger_period_start(k.limit_period, today) end as first) p
      cross join lateral (
        select coalesce(sum(usd_used) filter (where day > today - 7), 0) as usd_week,
          coalesce(sum(diem_used) filter (where day > today - 7), 0) as diem_week,
          coalesce(sum(usd_used) filter (where day >= p.first), 0) as usd_period,
          coalesce(sum(diem_used) filter (where day >= p.first), 0) as diem_period
        from key_days where key_id = k.id and day >= least(today - 6, p.first)
      ) u
      where k.account_id = $1 and ($2::uuid is null or k.id = $2) and ${IS_ACTIVE}
      order by k.created_at desc, k.id`,
    values: [which.accountId, which.keyId ?? null],
  });
  return rows.map(({ usd_week, diem_week, usd_period, diem_period, ...row }) => ({
    ...toKeyRecord(row),
    sevenDays: { usd: BigInt(usd_week), diem: BigInt(diem_week) },
    period: { usd: BigInt(usd_period), diem: BigInt(diem_period) },
  }));
}
