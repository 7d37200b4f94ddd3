/**
 * The invariants of the ledger as SQL: each statement selects the rows that break it, so none is the good answer. They
 * recompute everything from transfers and open holds; nothing stored is believed.
 */

export interface Invariant {
  name: string;
  /** Selects what breaks it. */
  text: string;
  /** The table that it is about; skipped while a database does not have it. */
  table?: string;
}

/** How long past its expiry a hold may wait for the sweeper. */
const SWEEP_GRACE = "interval '15 minutes'";

const BALANCED: Invariant = {
  name: 'I1 entries of an operation sum to zero per currency',
  text: `select operation_id, kind, currency, sum(amount) from entries
    group by operation_id, kind, currency having sum(amount) <> 0`,
};

const APPEND_ONLY: Invariant = {
  name: 'I2 transfers are append-only for the role of the services',
  text: `select privilege as problem
      from unnest(array['UPDATE', 'DELETE', 'TRUNCATE']) as privilege
      where has_table_privilege('farebox_app', 'transfers', privilege)
        or (privilege = 'UPDATE' and has_any_column_privilege('farebox_app', 'transfers', 'UPDATE'))
    union all
    select 'trigger is missing or disabled' where not exists (
      select from pg_trigger where tgrelid = 'transfers'::regclass and tgname = 'transfers_append_only'
        and tgenabled in ('O', 'A'))`,
};

const STORED_BALANCES: Invariant = {
  name: 'I3 stored balance is the sum of transfers',
  text: `with summed as (
      select account_id, coalesce(sum(amount) filter (where currency = 'usd'), 0) as usd,
        coalesce(sum(amount) filter (where currency = 'bundled'), 0) as bundled,
        coalesce(sum(amount) filter (where currency = 'vcu'), 0) as vcu
      from transfers group by account_id
    )
    select coalesce(a.id, s.account_id) as account_id, a.usd_posted, s.usd as usd_transferred,
      a.bundled_posted, s.bundled as bundled_transferred, a.vcu_posted, s.vcu as vcu_transferred
    from accounts a full join summed s on s.account_id = a.id
    where (coalesce(a.usd_posted, 0), coalesce(a.bundled_posted, 0), coalesce(a.vcu_posted, 0))
      is distinct from (coalesce(s.usd, 0), coalesce(s.bundled, 0), coalesce(s.vcu, 0))`,
};

const STORED_DIEM: Invariant = {
  name: 'I3 stored diem of a day is the sum of its transfers',
  text: `with summed as (
      select account_id, day, sum(amount) as diem from transfers where currency = 'diem' group by account_id, day
    )
    select coalesce(d.account_id, s.account_id) as account_id, coalesce(d.day, s.day)::text as day, d.posted,
      s.diem as transferred
    from diem_days d full join summed s on s.account_id = d.account_id and s.day = d.day
    where coalesce(d.posted, 0) <> coalesce(s.diem, 0)`,
};

const STORED_USAGE: Invariant = {
  name: 'I3 stored usage of a key and day is the sum of the charges and refunds of it and its children',
  text: `with own as (
      select key_id, day, coalesce(-sum(amount) filter (where currency in ('usd', 'bundled')), 0) as usd,
        coalesce(-sum(amount) filter (where currency = 'diem'), 0) as diem
      from transfers where key_id is not null group by key_id, day
    ), summed as (
      select key_id, day, sum(usd) as usd, sum(diem) as diem from (
        select * from own
        union all
        select k.parent_id, o.day, o.usd, o.diem from own o join api_keys k on k.id = o.key_id
          where k.parent_id is not null
      ) counted group by key_id, day
    )
    select coalesce(u.key_id, s.key_id) as key_id, coalesce(u.day, s.day)::text as day,
      u.usd_used, s.usd as usd_transferred, u.diem_used, s.diem as diem_transferred
    from key_days u full join summed s on s.key_id = u.key_id and s.day = u.day
    where (coalesce(u.usd_used, 0), coalesce(u.diem_used, 0))
      is distinct from (coalesce(s.usd, 0), coalesce(s.diem, 0))`,
};

const NEVER_BELOW_ZERO: Invariant = {
  name: 'I4 posted less held is never below zero',
  text: `select id::text as account_id, null as day, usd_posted, usd_held, bundled_posted, bundled_held from accounts
      where usd_posted < usd_held or usd_held < 0 or bundled_posted < bundled_held or bundled_held < 0 or vcu_posted < 0
    union all
    select account_id::text, day::text, posted, held, 0, 0 from diem_days where posted < held or held < 0`,
};

const HELD_BALANCES: Invariant = {
  name: 'I4 what is held is the sum of the open holds',
  text: `with open as (select * from operations where kind = 'charge' and state = 'held'),
    by_account as (
      select account_id, sum(held_usd) as usd, sum(held_bundled) as bundled from open group by account_id
    ), by_day as (
      select account_id, day, sum(held_diem) as diem from open group by account_id, day
    ), by_key as (
      select c.key_id, o.day, sum(o.held_usd + o.held_bundled) as usd, sum(o.held_diem) as diem
      from open o left join api_keys k on k.id = o.key_id
      cross join lateral (values (o.key_id), (k.parent_id)) c (key_id)
      where c.key_id is not null group by c.key_id, o.day
    )
    select 'account' as what, coalesce(a.id, s.account_id) as id, null as day from accounts a
      full join by_account s on s.account_id = a.id
      where coalesce(a.usd_held, 0) <> coalesce(s.usd, 0) or coalesce(a.bundled_held, 0) <> coalesce(s.bundled, 0)
    union all
    select 'diem', coalesce(d.account_id, s.account_id), coalesce(d.day, s.day)::text from diem_days d
      full join by_day s on s.account_id = d.account_id and s.day = d.day
      where coalesce(d.held, 0) <> coalesce(s.diem, 0)
    union all
    select 'key', coalesce(u.key_id, s.key_id), coalesce(u.day, s.day)::text from key_days u
      full join by_key s on s.key_id = u.key_id and s.day = u.day
      where coalesce(u.usd_held, 0) <> coalesce(s.usd, 0) or coalesce(u.diem_held, 0) <> coalesce(s.diem, 0)`,
};

const ONE_MOVE_PER_OPERATION: Invariant = {
  name: 'I5 an operation moved exactly what it says, once per currency',
  text: `with moved as (
      select operation_id, kind, max(n) as n,
        coalesce(sum(total) filter (where currency = 'diem'), 0) as diem,
        coalesce(sum(total) filter (where currency = 'bundled'), 0) as bundled,
        coalesce(sum(total) filter (where currency = 'usd'), 0) as usd
      from (select operation_id, kind, currency, count(*) as n, sum(amount) as total
        from transfers group by operation_id, kind, currency) t
      group by operation_id, kind
    ), said as (
      select operation_id, kind, state, case kind when 'charge' then -1 else 1 end as sign,
        coalesce(diem, 0) as diem, coalesce(bundled, 0) as bundled, coalesce(usd, 0) as usd
      from operations
    )
    select coalesce(o.operation_id, m.operation_id) as operation_id, coalesce(o.kind, m.kind) as kind, o.state,
      o.diem, m.diem as diem_moved, o.bundled, m.bundled as bundled_moved, o.usd, m.usd as usd_moved, m.n
    from said o full join moved m on m.operation_id = o.operation_id and m.kind = o.kind
    where m.n > 1 or o.operation_id is null
      or o.sign * o.diem <> coalesce(m.diem, 0) or o.sign * o.bundled <> coalesce(m.bundled, 0)
      or o.sign * o.usd <> coalesce(m.usd, 0)`,
};

const REFUNDS: Invariant = {
  name: 'I5 a charge has at most one refund, of the same account and day, and of at most its amount',
  text: `select r.operation_id as refund, r.counterpart as charge, c.state, c.counterpart as refund_of_charge
    from operations r left join operations c on c.operation_id = r.counterpart and c.kind = 'charge'
    where r.kind = 'refund' and not coalesce(c.state = 'settled' and c.counterpart = r.operation_id
      and c.account_id = r.account_id and c.day = r.day and c.key_id is not distinct from r.key_id
      and c.parent_key_id is not distinct from r.parent_key_id
      and r.diem <= c.diem and r.bundled <= c.bundled and r.usd <= c.usd, false)
    union all
    select c.counterpart, c.operation_id, c.state, c.counterpart from operations c
    where c.kind = 'charge' and c.counterpart is not null and not exists (
      select from operations r where r.operation_id = c.counterpart and r.kind = 'refund')`,
};

const CHARGED_THE_PRICE: Invariant = {
  name: 'I6 a charge took its price, or its hold where that is less',
  text: `select operation_id, price_usd, price_diem, held_diem, held_bundled, held_usd, diem, bundled, usd
    from operations where kind = 'charge' and case
      when state = 'settled' and held_usd is null
        then bundled + usd is distinct from ledger_rest(price_usd, price_diem, diem)
      when state = 'settled' then diem <> least(price_diem, held_diem) or bundled + usd <>
        least(coalesce(ledger_rest(price_usd, price_diem, diem), 0), held_bundled + held_usd)
      when state in ('released', 'expired') then diem + bundled + usd <> 0
      else false end`,
};

const JOBS_PAID: Invariant = {
  name: 'I6 a job is charged its price; one that ended without an output is refunded in full',
  table: 'jobs',
  text: `select j.queue_id, j.state as job_state, j.price_usd_nano, c.state as charge_state, c.price_usd, c.counterpart
    from jobs j
    left join operations c on c.operation_id = j.charge_operation_id::text and c.kind = 'charge'
    left join operations r on r.operation_id = c.counterpart and r.kind = 'refund'
    where not coalesce(c.state = 'settled' and c.price_usd = j.price_usd_nano and c.account_id = j.account_id
      and case
        when j.state in ('failed', 'timed_out', 'cancelled')
          then (r.diem, r.bundled, r.usd) is not distinct from (c.diem, c.bundled, c.usd)
        else c.counterpart is null end, false)`,
};

const CONSERVED: Invariant = {
  name: 'I7 what accounts have is what the house gave less what it earned, per currency',
  text: `with had as (
      select 'usd' as currency, sum(usd_posted) as amount from accounts
      union all select 'bundled', sum(bundled_posted) from accounts
      union all select 'vcu', sum(vcu_posted) from accounts
      union all select 'diem', sum(posted) from diem_days
    ), house as (select currency, sum(amount) as amount from entries where side = 'house' group by currency)
    select h.currency, h.amount as accounts, x.amount as house from had h left join house x using (currency)
    where coalesce(h.amount, 0) + coalesce(x.amount, 0) <> 0`,
};

const KEY_LIMITS: Invariant = {
  name: 'I8 no key, with its children, spent and holds more than its limit in any period',
  // What was admitted before the limits last changed was admitted by other limits.
  text: `with periods as (
      select k.id, k.limit_usd, k.limit_diem, k.limits_changed_at,
        ledger_period_start(k.limit_period, u.day) as period, min(u.day) as first, max(u.day) as last,
        sum(u.usd_used + u.usd_held) as usd, sum(u.diem_used + u.diem_held) as diem
      from api_keys k join key_days u on u.key_id = k.id
      where k.limit_usd is not null or k.limit_diem is not null
      group by k.id, period
    )
    select p.id as key_id, p.period::text, p.usd, p.limit_usd, p.diem, p.limit_diem from periods p
    where (p.usd > p.limit_usd or p.diem > p.limit_diem) and exists (
      select from operations o where p.id in (o.key_id, o.parent_key_id) and o.kind = 'charge' and o.day between p.first and p.last
        and o.created_at > p.limits_changed_at
        and ((p.usd > p.limit_usd and coalesce(o.usd + o.bundled, o.held_usd + o.held_bundled) > 0)
          or (p.diem > p.limit_diem and coalesce(o.diem, o.held_diem) > 0)))`,
};

const ONE_PERIOD: Invariant = {
  name: 'I9 a charge belongs to the UTC day of its admission, and so do its transfers and its refund',
  text: `select operation_id, kind, day::text, created_at from operations
      where kind = 'charge' and day is distinct from (created_at at time zone 'UTC')::date
    union all
    select t.operation_id, t.kind, t.day::text, t.created_at from transfers t
      join operations o on o.operation_id = t.operation_id and o.kind = t.kind
      where t.day is distinct from o.day`,
};

const NOTHING_FORGOTTEN: Invariant = {
  name: 'I11 no hold outlives its expiry, and none belongs to an operation that is over',
  text: `select coalesce(h.operation_id, o.operation_id) as operation_id, o.state, h.expires_at
    from holds h
    full join (select * from operations where kind = 'charge' and state = 'held') o
      on o.operation_id = h.operation_id
    where o.operation_id is null or h.operation_id is null or h.account_id <> o.account_id
      or h.expires_at < ledger_now() - ${SWEEP_GRACE}`,
};

const ONE_DAILY_GRANT: Invariant = {
  name: 'I12 a diem day has exactly one grant, of its allocation',
  text: `with granted as (
      select account_id, day, count(*) as n, sum(amount) as amount from transfers
      where kind = 'grant' and currency = 'diem' group by account_id, day
    )
    select coalesce(d.account_id, g.account_id) as account_id, coalesce(d.day, g.day)::text as day, d.allocation,
      g.amount, g.n
    from diem_days d full join granted g on g.account_id = d.account_id and g.day = d.day
    where g.n > 1 or coalesce(g.amount, 0) is distinct from d.allocation`,
};

const ONE_PAYER: Invariant = {
  name: 'I13 an operation has exactly one payer: an account, and of its keys one with its parent',
  text: `select t.operation_id, t.kind, t.account_id, o.account_id as payer from transfers t
      join operations o on o.operation_id = t.operation_id and o.kind = t.kind
      where t.account_id <> o.account_id or t.key_id is distinct from o.key_id
    union all
    select o.operation_id, o.kind, o.account_id, k.account_id from operations o
      left join api_keys k on k.id = o.key_id
      where k.account_id <> o.account_id or k.parent_id is distinct from o.parent_key_id`,
};

/** The identity of a payment is the ledger's operation id; nothing else that tops up begins like this. */
const FROM_CHAIN = "kind = 'top_up' and operation_id ~ '^x402-'";

const TOP_UPS_CREDITED: Invariant = {
  name: 'I5 a payment from a chain is credited once, to its payer, with what was read there; any other not at all',
  table: 'top_ups',
  text: `select coalesce(t.id, o.operation_id) as payment, t.state, t.amount::text, t.credited_units::text,
      t.credited_nano::text, o.usd::text as booked, t.account_id, o.account_id as booked_for
    from top_ups t full join (select * from operations where ${FROM_CHAIN}) o on o.operation_id = t.id
    where t.id is null or (t.state = 'credited') <> (o.operation_id is not null)
      or t.state = 'credited' and (o.account_id <> t.account_id or o.usd <> t.credited_nano
        or o.bundled <> 0 or o.diem <> 0 or t.credited_nano <> t.credited_units * power(10, 9 - t.decimals)::bigint)`,
};

const CHAIN_CONSERVED: Invariant = {
  name: 'I7 what a wallet paid in is what it has, holds included, and what it spent',
  table: 'top_ups',
  text: `with paid as (
      select account_id, sum(credited_nano) as nano from top_ups where state = 'credited' group by account_id
    ), moved as (
      select account_id, sum(amount) as nano from transfers t where currency = 'usd' and not (${FROM_CHAIN})
      group by account_id
    )
    select w.account_id, w.address, coalesce(p.nano, 0) as paid, a.usd_posted as has, coalesce(m.nano, 0) as moved
    from wallet_accounts w join accounts a on a.id = w.account_id
      left join paid p on p.account_id = w.account_id left join moved m on m.account_id = w.account_id
    where coalesce(p.nano, 0) + coalesce(m.nano, 0) <> a.usd_posted`,
};

export const LEDGER_INVARIANTS: readonly Invariant[] = [
  BALANCED,
  APPEND_ONLY,
  STORED_BALANCES,
  STORED_DIEM,
  STORED_USAGE,
  NEVER_BELOW_ZERO,
  HELD_BALANCES,
  ONE_MOVE_PER_OPERATION,
  REFUNDS,
  CHARGED_THE_PRICE,
  JOBS_PAID,
  CONSERVED,
  TOP_UPS_CREDITED,
  CHAIN_CONSERVED,
  KEY_LIMITS,
  ONE_PERIOD,
  NOTHING_FORGOTTEN,
  ONE_DAILY_GRANT,
  ONE_PAYER,
];
