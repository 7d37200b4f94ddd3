/** What accounts can spend, read for many calls of a moment together: wallets are told with every answer. */

import type { Nano } from '../../domain/money.ts';
import { createBatcher } from './batcher.ts';
import type { Sql } from './pool.ts';

export interface Funds {
  /** Free to spend now, in nano units: posted less held. Nothing where there is no such account. */
  usd: Nano;
  bundled: Nano;
  /** Today's (UTC). */
  diem: Nano;
  /** `none`: nothing was ever paid in, and there is no row. */
  account: 'active' | 'suspended' | 'none';
}

export interface FundsReader {
  /** Throws FareboxError `unavailable` when the database does not answer in some seconds. */
  read(accountId: string): Promise<Funds>;
  /** Ends when the reads under way have ended; the pool stays the caller's. */
  close(): Promise<void>;
}

interface Row {
  usd: string;
  bundled: string;
  diem: string;
  status: Funds['account'];
}

const READ = {
  name: 'funds_read',
  text: `select coalesce(a.usd_posted - a.usd_held, 0) as usd, coalesce(a.bundled_posted - a.bundled_held, 0) as bundled,
      coalesce(d.posted - d.held, a.diem_daily_allocation, 0) as diem, coalesce(a.status, 'none') as status
    from unnest($1::uuid[]) with ordinality as q (account_id, ord)
    left join accounts a on a.id = q.account_id
    left join lateral (
      select d.posted, d.held from diem_days d
      where d.account_id = q.account_id and d.day = (select (ledger_now() at time zone 'UTC')::date) limit 1
    ) d on true
    order by q.ord`,
};

const DEADLINE_MS = 5_000;

export function createFundsReader(pool: Sql): FundsReader {
  const reads = createBatcher<string, Row>({
    deadlineMs: DEADLINE_MS,
    async run(accountIds) {
      return (await pool.query<Row>({ ...READ, values: [accountIds] })).rows;
    },
  });
  return {
    async read(accountId) {
      const { usd, bundled, diem, status } = await reads.call(accountId);
      return { usd: BigInt(usd), bundled: BigInt(bundled), diem: BigInt(diem), account: status };
    },
    close: () => reads.close(),
  };
}
