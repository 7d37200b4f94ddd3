/**
 * Spendable funds of accounts, read for many concurrent calls together: before a paid call, and for wallets with every
 * answer.
 */
import type { Caller } from '../../domain/caller.ts';
import type { Nano } from '../../domain/money.ts';
import { createBatcher } from './batcher.ts';
import type { Sql } from './pool.ts';

export interface Funds {
  /** Spendable now, in nano units: posted less held. Zero without such an account. */
  usd: Nano;
  bundled: Nano;
  /** Today's (UTC). */
  diem: Nano;
  /** Rest of the limits of the key and of its parent, the smaller; undefined: no limit. May be negative. */
  keyUsd: Nano | undefined;
  keyDiem: Nano | undefined;
  /** `none`: there was no top-up, and there is no row. */
  account: 'active' | 'suspended' | 'none';
}

/** Account, with the key that limits its spending. */
export type Payer = Pick<Caller, 'accountId' | 'keyId'>;

export interface FundsReader {
  /** Throws FareboxError `unavailable` when the database does not answer within seconds. */
  read(payer: Payer): Promise<Funds>;
  /** Expires due holds of the account. False: there are none. */
  expireDueHolds(accountId: string): Promise<boolean>;
  /** Resolves when the running reads have ended; the caller keeps the pool. */
  close(): Promise<void>;
}

interface FundsRow {
  usd: string;
  bundled: string;
  diem: string;
  key_usd: string | null;
  key_diem: string | null;
  status: Funds['account'];
}

/** The rest of a key's limits, computed as in `ledger_admit`. */
const READ = {
  name: 'funds_read',
  text: `select coalesce(a.usd_posted - a.usd_held, 0) as usd, coalesce(a.bundled_posted - a.bundled_held, 0) as bundled,
      coalesce(d.posted - d.held, a.diem_daily_allocation, 0) as diem, room.usd as key_usd, room.diem as key_diem,
      coalesce(a.status, 'none') as status
    from unnest($1::uuid[], $2::uuid[]) with ordinality as q (account_id, key_id, ord)
    cross join lateral (select (ledger_now() at time zone 'UTC')::date as today) now
    left join accounts a on a.id = q.account_id
    left join lateral (
      select d.posted, d.held from diem_days d
      where d.account_id = q.account_id and d.day = now.today limit 1
    ) d on true
    left join lateral (
      select min(k.limit_usd - used.usd) as usd, min(k.limit_diem - used.diem) as diem
      from api_keys own
      join api_keys k on k.id in (own.id, own.parent_id)
      cross join lateral (
        select coalesce(sum(u.usd_used + u.usd_held), 0)::bigint as usd,
          coalesce(sum(u.diem_used + u.diem_held), 0)::bigint as diem
        from key_days u
        where u.key_id = k.id and u.day >= ledger_period_start(k.limit_period, now.today)
      ) used
      where own.id = q.key_id and (k.limit_usd is not null or k.limit_diem is not null)
    ) room on q.key_id is not null
    order by q.ord`,
};

const DEADLINE_MS = 5_000;

export function createFundsReader(pool: Sql): FundsReader {
  const reads = createBatcher<Payer, FundsRow>({
    deadlineMs: DEADLINE_MS,
    async run(payers) {
      const values = [payers.map(({ accountId }) => accountId), payers.map(({ keyId }) => keyId)];
      return (await pool.query<FundsRow>({ ...READ, values })).rows;
    },
  });
  return {
    async read(payer) {
      const { usd, bundled, diem, key_usd, key_diem, status } = await reads.call(payer);
      return {
        ...{ usd: BigInt(usd), bundled: BigInt(bundled), diem: BigInt(diem), account: status },
        keyUsd: key_usd === null ? undefined : BigInt(key_usd),
        keyDiem: key_diem === null ? undefined : BigInt(key_diem),
      };
    },
    async expireDueHolds(accountId) {
      const expired = {
        name: 'funds_expire_due',
        text: 'select ledger_expire_own(array[$1::uuid]) as expired',
      };
      const { rows } = await pool.query<{ expired: string }>({ ...expired, values: [accountId] });
      return Number(rows[0]?.expired ?? 0) > 0;
    },
    close: () => reads.close(),
  };
}
