/** Invariants of balances, diem days, usage and limits, read by pages of accounts. */
import type { RuleSet } from './ruleSet.ts';

/**
 * For a page of accounts (`$1`): sums that were read before (`$3` to `$7`), plus transfers since `$2` in the same
 * snapshot as the balances.
 */
const MOVED = `moved as (
    select * from unnest($3::uuid[], $4::uuid[], $5::text[], $6::date[], $7::numeric[])
      as s (account_id, key_id, currency, day, amount)
    union all
    select account_id, key_id, currency, day, amount from transfers
    where account_id = any ($1::uuid[]) and created_at >= $2::timestamptz
  )`;
/** The same with sums sealed before `$8`, for days from `$9` on. */
const BOOKED = `${MOVED}, booked as (
    select account_id, key_id, currency, day, amount from moved where day >= $9::date
    union all
    select account_id, key_id, currency, booked_day, amount from sealed_sums
    where account_id = any ($1::uuid[]) and booked_day >= $9::date and day < $8::date
  )`;
const HELD = `held as (
    select o.account_id, o.key_id, o.day, o.held_diem, o.held_bundled, o.held_usd
    from holds h join operations o on o.operation_id = h.operation_id and o.kind = 'charge'
    where o.account_id = any ($1::uuid[]) and o.state = 'held'
  )`;

const BALANCE_RULES: RuleSet = {
  columns: `b.account_id, b.usd_posted, b.usd_moved, b.bundled_posted, b.bundled_moved, b.vcu_posted, b.vcu_moved,
    b.usd_held, b.usd_on_hold, b.bundled_held, b.bundled_on_hold`,
  from: `from (
      with ${MOVED}, ${HELD}, summed as (
        select account_id, sum(amount) filter (where currency = 'usd') as usd,
          sum(amount) filter (where currency = 'bundled') as bundled, sum(amount) filter (where currency = 'vcu') as vcu
        from moved group by account_id
      ), on_hold as (
        select account_id, sum(held_usd) as usd, sum(held_bundled) as bundled from held group by account_id
      )
      select id as account_id, a.usd_posted, a.usd_held, a.bundled_posted, a.bundled_held, a.vcu_posted,
        coalesce(z.usd, 0) + coalesce(s.usd, 0) as usd_moved,
        coalesce(z.bundled, 0) + coalesce(s.bundled, 0) as bundled_moved,
        coalesce(z.vcu, 0) + coalesce(s.vcu, 0) as vcu_moved,
        coalesce(h.usd, 0) as usd_on_hold, coalesce(h.bundled, 0) as bundled_on_hold
      from unnest($1::uuid[]) as id left join accounts a using (id)
        left join summed s on s.account_id = id left join on_hold h on h.account_id = id
        left join lateral (
          select * from sealed_balances x where x.account_id = id and x.day < $8::date order by x.day desc limit 1
        ) z on true
    ) b`,
  rules: [
    {
      name: 'I3 stored balance is the sum of transfers',
      broken: `(b.usd_posted, b.bundled_posted, b.vcu_posted)
        is distinct from (b.usd_moved, b.bundled_moved, b.vcu_moved)`,
    },
    {
      name: 'I4 posted less held is never below zero',
      broken: `b.usd_posted < b.usd_held or b.usd_held < 0 or b.bundled_posted < b.bundled_held or b.bundled_held < 0
        or b.vcu_posted < 0`,
    },
    {
      name: 'I4 what is held is the sum of the open holds',
      broken: 'b.usd_held <> b.usd_on_hold or b.bundled_held <> b.bundled_on_hold',
    },
  ],
};

const DIEM_RULES: RuleSet = {
  columns:
    'd.account_id, d.day::text, d.allocation, g.diem as granted, d.posted, d.moved, d.held, d.on_hold as held_by_operations',
  from: `from (
      with ${BOOKED}, ${HELD}, stored as (
        select * from diem_days where account_id = any ($1::uuid[]) and day >= $9::date
      ), summed as (
        select account_id, day, sum(amount) as moved from booked where currency = 'diem' group by account_id, day
      ), on_hold as (
        select account_id, day, sum(held_diem) as diem from held group by account_id, day
      )
      select account_id, day, d.allocation, d.posted, d.held, coalesce(s.moved, 0) as moved, coalesce(h.diem, 0) as on_hold
      from stored d full join summed s using (account_id, day) full join on_hold h using (account_id, day)
    ) d left join lateral (
      select x.diem from operations x
      where x.operation_id = 'diem:' || d.account_id || ':' || d.day and x.kind = 'grant' limit 1
    ) g on true`,
  rules: [
    {
      name: 'I3 stored diem of a day is the sum of its transfers',
      broken: 'coalesce(d.posted, 0) <> d.moved',
    },
    {
      name: 'I4 posted less held is never below zero',
      broken: 'd.posted < d.held or d.held < 0',
    },
    {
      name: 'I4 what is held is the sum of the open holds',
      broken: 'coalesce(d.held, 0) <> d.on_hold',
    },
    {
      name: 'I12 a diem day has exactly one grant, of its allocation',
      broken: 'coalesce(g.diem, 0) is distinct from coalesce(d.allocation, 0)',
    },
  ],
};

const USAGE_RULES: RuleSet = {
  columns: `u.key_id, u.day::text, u.usd_used, u.usd_moved, u.diem_used, u.diem_moved, u.usd_held, u.usd_on_hold,
    u.diem_held, u.diem_on_hold`,
  from: `from (
      with ${BOOKED}, ${HELD}, stored as (
        select u.* from api_keys k join key_days u on u.key_id = k.id
        where k.account_id = any ($1::uuid[]) and u.day >= $9::date
      ), own as (
        select key_id, day, -coalesce(sum(amount) filter (where currency in ('usd', 'bundled')), 0) as usd,
          -coalesce(sum(amount) filter (where currency = 'diem'), 0) as diem
        from booked where key_id is not null group by key_id, day
      ), summed as (
        select c.key_id, o.day, sum(o.usd) as usd, sum(o.diem) as diem
        from own o left join api_keys k on k.id = o.key_id
        cross join lateral (values (o.key_id), (k.parent_id)) c (key_id)
        where c.key_id is not null group by c.key_id, o.day
      ), on_hold as (
        select c.key_id, o.day, sum(o.held_usd + o.held_bundled) as usd, sum(o.held_diem) as diem
        from held o left join api_keys k on k.id = o.key_id
        cross join lateral (values (o.key_id), (k.parent_id)) c (key_id)
        where c.key_id is not null group by c.key_id, o.day
      )
      select key_id, day, coalesce(u.usd_used, 0) as usd_used, coalesce(u.diem_used, 0) as diem_used,
        coalesce(u.usd_held, 0) as usd_held, coalesce(u.diem_held, 0) as diem_held,
        coalesce(s.usd, 0) as usd_moved, coalesce(s.diem, 0) as diem_moved,
        coalesce(h.usd, 0) as usd_on_hold, coalesce(h.diem, 0) as diem_on_hold
      from stored u full join summed s using (key_id, day) full join on_hold h using (key_id, day)
    ) u`,
  rules: [
    {
      name: 'I3 stored usage of a key and day is the sum of the charges and refunds of it and its children',
      broken: 'u.usd_used <> u.usd_moved or u.diem_used <> u.diem_moved',
    },
    {
      name: 'I4 what is held is the sum of the open holds',
      broken: 'u.usd_held <> u.usd_on_hold or u.diem_held <> u.diem_on_hold',
    },
  ],
};

/** Usage before `$9` that still counts for limits per month or without a period. */
const SEALED_USAGE_RULES: RuleSet = {
  columns: 'u.key_id, u.usd_used, u.usd_moved, u.diem_used, u.diem_moved, u.held',
  from: `from (
      with limited as (
        select id, account_id, ledger_period_start(limit_period, $9::date) as first from api_keys
        where account_id = any ($1::uuid[]) and limit_period <> 'EPOCH' and (limit_usd is not null or limit_diem is not null)
      ), stored as (
        select k.id as key_id, sum(u.usd_used) as usd, sum(u.diem_used) as diem, sum(u.usd_held + u.diem_held) as held
        from limited k join key_days u on u.key_id = k.id and u.day >= k.first and u.day < $9::date group by k.id
      ), summed as (
        select k.id as key_id, -coalesce(sum(s.amount) filter (where s.currency in ('usd', 'bundled')), 0) as usd,
          -coalesce(sum(s.amount) filter (where s.currency = 'diem'), 0) as diem
        from limited k join sealed_sums s on s.account_id = k.account_id and s.booked_day >= k.first
            and s.booked_day < $9::date and s.day < $8::date
          join api_keys x on x.id = s.key_id and k.id in (x.id, x.parent_id)
        group by k.id
      )
      select key_id, coalesce(u.usd, 0) as usd_used, coalesce(u.diem, 0) as diem_used, coalesce(u.held, 0) as held,
        coalesce(s.usd, 0) as usd_moved, coalesce(s.diem, 0) as diem_moved
      from stored u full join summed s using (key_id)
    ) u`,
  rules: [
    {
      name: 'I3 stored usage of a key and day is the sum of the charges and refunds of it and its children',
      broken: 'u.usd_used <> u.usd_moved or u.diem_used <> u.diem_moved',
    },
    {
      name: 'I4 what is held is the sum of the open holds',
      broken: 'u.held <> 0',
    },
  ],
};

/** Admissions before the last change of the limits were under other limits: see `key_limit_changes`. */
const LIMIT_RULES: RuleSet = {
  columns: 'p.key_id, p.period::text, p.usd, p.limit_usd, p.diem, p.limit_diem',
  from: `from (
      select k.id as key_id, k.limit_usd, k.limit_diem, k.limits_changed_at,
        ledger_period_start(k.limit_period, u.day) as period, min(u.day) as first, max(u.day) as last,
        sum(u.usd_used + u.usd_held) as usd, sum(u.diem_used + u.diem_held) as diem
      from api_keys k join key_days u on u.key_id = k.id
      where k.account_id = any ($1::uuid[]) and (k.limit_usd is not null or k.limit_diem is not null)
        and u.day >= ledger_period_start(k.limit_period, $9::date)
      group by k.id, period
    ) p`,
  rules: [
    {
      name: 'I8 no key, with its children, spent and holds more than its limit in any period',
      broken: `(p.usd > p.limit_usd or p.diem > p.limit_diem) and exists (
        select from operations o where p.key_id in (o.key_id, o.parent_key_id) and o.kind = 'charge'
          and o.day between p.first and p.last and o.created_at > p.limits_changed_at
          and o.created_at >= $9::date::timestamp at time zone 'UTC'
          and ((p.usd > p.limit_usd and coalesce(o.usd + o.bundled, o.held_usd + o.held_bundled) > 0)
            or (p.diem > p.limit_diem and coalesce(o.diem, o.held_diem) > 0)))`,
    },
  ],
};

/** Prefix of each statement: it declares the types of unused parameters. */
export const PAGE_PARAMETERS = `parameters as (select $1::uuid[], $2::timestamptz, $3::uuid[], $4::uuid[], $5::text[],
    $6::date[], $7::numeric[], $8::date, $9::date), `;

/** Statements over a page of accounts, each with some of its parameters. */
export const ACCOUNT_RULES: readonly RuleSet[] = [
  BALANCE_RULES,
  DIEM_RULES,
  USAGE_RULES,
  SEALED_USAGE_RULES,
  LIMIT_RULES,
];
