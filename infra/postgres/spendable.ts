/** Funds that a caller can still spend: those of its account, within the limits of its key and of that key's parent. */
import { type LimitRoom, type SpendableFunds, spendableWithin } from '../../domain/spendable.ts';
import type { SqlClient } from './pool.ts';
import { runLedgerStatement } from './runLedgerStatement.ts';

/** Remaining limits of a key; includes usage of its child keys. */
function roomOf(key: 'k' | 'p'): string {
  return `left join lateral (
      select ${key}.limit_usd - coalesce(sum(u.usd_used + u.usd_held), 0) as usd,
        ${key}.limit_diem - coalesce(sum(u.diem_used + u.diem_held), 0) as diem
      from key_days u
      where u.key_id = ${key}.id and u.day >= ledger_period_start(${key}.limit_period, today.day)
    ) room_${key} on ${key}.limit_usd is not null or ${key}.limit_diem is not null`;
}

const SPENDABLE = {
  name: 'spendable_of',
  text: `select a.usd_posted - a.usd_held as usd, a.bundled_posted - a.bundled_held as bundled,
      coalesce(d.posted - d.held, a.diem_daily_allocation) as diem,
      room_k.usd as key_usd, room_k.diem as key_diem, room_p.usd as parent_usd, room_p.diem as parent_diem
    from accounts a cross join (select (ledger_now() at time zone 'UTC')::date as day) today
    left join diem_days d on d.account_id = a.id and d.day = today.day
    left join api_keys k on k.id = $2
    left join api_keys p on p.id = k.parent_id
    ${roomOf('k')}
    ${roomOf('p')}
    where a.id = $1`,
};

type SpendableRow = Record<'usd' | 'bundled' | 'diem', string> &
  Record<'key_usd' | 'key_diem' | 'parent_usd' | 'parent_diem', string | null>;

/** `withinKey`: key whose limits apply, or null. Undefined for an unknown account. */
export async function spendableOf(
  sql: SqlClient,
  { accountId, withinKey }: { accountId: string; withinKey: string | null },
): Promise<SpendableFunds | undefined> {
  const [row] = await runLedgerStatement<SpendableRow>(sql, { ...SPENDABLE, values: [accountId, withinKey] });
  if (!row) return undefined;
  const funds = { usd: BigInt(row.usd), bundled: BigInt(row.bundled), diem: BigInt(row.diem) };
  return spendableWithin(funds, [toRoom(row.key_usd, row.key_diem), toRoom(row.parent_usd, row.parent_diem)]);
}

function toRoom(usd: string | null, diem: string | null): LimitRoom {
  return { usd: usd === null ? undefined : BigInt(usd), diem: diem === null ? undefined : BigInt(diem) };
}
