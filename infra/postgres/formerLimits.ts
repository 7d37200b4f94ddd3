/** Invariant of the former limits of keys, which `key_limit_changes` keeps. */
import type { RuleSet } from './ruleSet.ts';
import { ARCHIVED_RANGES } from './ruleTerms.ts';

/**
 * First day whose transfers are read; the days before it are known by their seals. A check of the unsealed days begins
 * after the seals: sealed admissions were checked when they were sealed. A full check begins on the day on which the
 * limits began, unless that day is archived.
 */
const READ_FROM = `coalesce(greatest(
    (select case when $1 < sealed_until then least(sealed_until, limited_from) else sealed_until end from (
      select (select max(day) + 1 from sealed_days)::timestamp at time zone 'UTC' as sealed_until,
        (select date_trunc('day', min(since)) from changes) as limited_from) b),
    (select until from ${ARCHIVED_RANGES} a where since is null)), '-infinity')`;

/**
 * Compares spending before a change of a key's limits with the former limits. It is at most the sum at the last
 * admission under them: bills never exceed their holds, and a rest is an admission of its own. A charge with the same
 * time as the limits may be older, and is not checked.
 *
 * Transfers and changes of a key are read in order of time with running sums. Otherwise a key with frequent changes and
 * much spending would be summed again for each change.
 */
export const FORMER_LIMIT_RULES: RuleSet = {
  columns: 'u.key_id, u.since, u.until, u.limit_usd, u.limit_diem, u.period::text, u.usd, u.diem',
  from: `from (
      with changes as (
        select l.*, k.account_id, ledger_period_start(l.limit_period, (l.since at time zone 'UTC')::date) as first
          from key_limit_changes l join api_keys k on k.id = l.key_id where until >= $1 and until < $2
      ), spans as (
        select key_id, limit_period, account_id, min(first)::timestamp at time zone 'UTC' as start, max(until) as stop
          from changes group by key_id, limit_period, account_id
      ), bounds as (
        select ${READ_FROM} as read_from
      ), sealed as (
        select s.key_id, s.limit_period, ledger_period_start(s.limit_period, m.booked_day) as period, m.day, m.currency, m.amount
          from spans s join sealed_sums m on m.account_id = s.account_id
            and m.booked_day >= (s.start at time zone 'UTC')::date and m.day < (select (read_from at time zone 'UTC')::date from bounds)
            and m.key_id in (select x.id from api_keys x where x.id = s.key_id or x.parent_id = s.key_id)
      ), events as (
        select key_id, limit_period, period, day::timestamp at time zone 'UTC' as at,
            case when currency <> 'diem' then -amount end as usd, case when currency = 'diem' then -amount end as diem,
            null::timestamptz as admitted_at, null::timestamptz as since, null::bigint as limit_usd, null::bigint as limit_diem
          from sealed
        union all
        select s.key_id, s.limit_period, ledger_period_start(s.limit_period, t.day), t.created_at,
            case when t.currency <> 'diem' then -t.amount end, case when t.currency = 'diem' then -t.amount end,
            o.created_at, null, null, null
          from spans s join transfers t on t.account_id = s.account_id and t.created_at >= s.start and t.created_at < s.stop
            and t.created_at >= (select read_from from bounds)
            and t.key_id in (select x.id from api_keys x where x.id = s.key_id or x.parent_id = s.key_id)
          left join operations o on o.operation_id = t.operation_id and o.kind = t.kind and t.kind = 'charge'
        union all
        select c.key_id, c.limit_period, d.period, c.until, null, null, null, c.since, c.limit_usd, c.limit_diem
          from changes c cross join lateral (
            select distinct ledger_period_start(c.limit_period, day::date) as period
              from generate_series((c.since at time zone 'UTC')::date, (c.until at time zone 'UTC')::date, interval '1 day') day
          ) d
      )
      select key_id, period, at as until, since, limit_usd, limit_diem,
          coalesce(sum(usd) over earlier, 0) as usd, coalesce(sum(diem) over earlier, 0) as diem,
          coalesce(max(admitted_at) filter (where usd is not null) over earlier > since, false) as usd_admitted,
          coalesce(max(admitted_at) filter (where diem is not null) over earlier > since, false) as diem_admitted
        from events
        window earlier as (partition by key_id, limit_period, period order by at
          groups between unbounded preceding and 1 preceding)
    ) u`,
  rules: [
    {
      name: 'I8 no key, with its children, spent and holds more than its limit in any period',
      broken:
        'u.since is not null and (u.usd > u.limit_usd and u.usd_admitted or u.diem > u.limit_diem and u.diem_admitted)',
    },
  ],
};
