/**
 * The invariants of the ledger as SQL conditions that no row may meet. Each set of rules reads one slice of the books
 * (`$1` inclusive to `$2` exclusive, by time) or one page of accounts; nothing stored is believed that can be recomputed.
 *
 * The sum of all accounts against the house, and what a wallet paid in against what it has, follow from I3 and I5.
 */
import { ACCOUNT_RULES } from './accountInvariants.ts';
import { FORMER_LIMIT_RULES } from './formerLimits.ts';
import type { RuleSet } from './ruleSet.ts';

/** How long past its expiry a hold may wait for the sweeper. */
const SWEEP_GRACE = "interval '15 minutes'";
/** How long past its deadline a job may wait for its refund. */
const OVERDUE_GRACE = "interval '1 hour'";

const OPERATION_COLUMNS =
  `account_id state day key_id parent_key_id price_usd price_diem held_diem held_bundled held_usd
  diem bundled usd counterpart created_at`.split(/\s+/);

const UNITS = `(t.details ->> 'units')`;
const PRICE_PER_UNIT = `(t.details ->> 'pricePerUnitUsd')`;
const IS_DECIMAL = `~ '^\\d{1,15}(\\.\\d{1,9})?$'`;
const IS_DIGITS = `~ '^\\d{1,15}$'`;
/**
 * Text calls have several rates (prompt, cache, output, search), and their entry names that of the output. What is taken
 * beyond a settled hold counts no units again.
 */
const HAS_ONE_RATE = `t.kind = 'charge' and t.details ->> 'unit' <> 'million tokens'
  and not (t.details ? 'restOf' and ${UNITS} = '0') and ${UNITS} ${IS_DECIMAL} and ${PRICE_PER_UNIT} ${IS_DIGITS}`;

/** Who pays as one number: account and key of a transfer are those of its operation when these agree. */
function payerOf(row: string): string {
  return `uuid_hash_extended(${row}.account_id, 0) # coalesce(uuid_hash_extended(${row}.key_id, 1), 0)`;
}

/** The largest amount stands for the sum: an operation moves a currency once, which `most` and `n` tell. */
const MOVED_BY_OPERATION = `select t.operation_id, t.kind, count(*)::int as n,
    bit_or(case t.currency when 'usd' then 1 when 'bundled' then 2 when 'diem' then 4 else 8 end) as currencies,
    max(t.amount) filter (where t.currency = 'usd') as usd,
    max(t.amount) filter (where t.currency = 'bundled') as bundled,
    max(t.amount) filter (where t.currency = 'diem') as diem,
    min(t.day) as first_day, max(t.day) as last_day, min(${payerOf('t')}) as first_payer, max(${payerOf('t')}) as last_payer,
    max(case when ${HAS_ONE_RATE} then ${UNITS} || ' ' || ${PRICE_PER_UNIT} end) as sold
  from transfers t where t.created_at >= $1 and t.created_at < $2 group by t.operation_id, t.kind`;
const MOVED_COLUMNS = 'n currencies usd bundled diem first_day last_day first_payer last_payer sold'.split(
  ' ',
);

export const MOVED_AS_SAID = 'I5 an operation moved exactly what it says, once per currency';

/** A hold may be settled after the end of the slice: its transfers are then looked for later. */
const SETTLED_LATER = `(o.known and o.moved_n is null and not o.earlier and o.kind = 'charge' and o.held_usd is not null
    and o.state = 'settled' and o.diem + o.bundled + o.usd > 0)`;
const SIGN = `(case o.kind when 'charge' then -1 else 1 end)`;

/** Evaluated only where it is reached, by the key of one row: a join would be made for every operation. */
function holdsOf(table: string, where: string, condition: string): string {
  return `coalesce((select ${condition} from ${table} x where ${where} limit 1), false)`;
}

/**
 * Operations of the slice with what they moved in it, and earlier operations that moved something in it. `offset 0` and
 * `limit 1` keep single rows read by their key: a join would read all operations there are.
 *
 * A price per unit may be rounded up (a surcharge) or down (several pictures of one price), by less than one nano unit per
 * unit sold; the whole is rounded up once.
 */
export const OPERATION_RULES: RuleSet = {
  columns: `o.operation_id, o.kind, o.account_id, o.key_id, o.state, o.day::text, o.created_at, o.price_usd, o.price_diem,
    o.held_diem, o.held_bundled, o.held_usd, o.diem, o.bundled, o.usd, o.moved_diem, o.moved_bundled, o.moved_usd,
    o.moved_n as transfers, o.moved_first_day::text, o.moved_last_day::text, o.counterpart, o.moved_sold as sold, o.earlier,
    ${SETTLED_LATER} as settled_later`,
  from: `from (
      select coalesce(i.operation_id, m.operation_id) as operation_id, coalesce(i.kind, m.kind) as kind,
        ${OPERATION_COLUMNS.map((column) => `coalesce(i.${column}, p.${column}) as ${column}`).join(', ')},
        coalesce(i.operation_id, p.operation_id) is not null as known, i.operation_id is null as earlier,
        ${MOVED_COLUMNS.map((column) => `m.${column} as moved_${column}`).join(', ')}
      from (select * from operations where created_at >= $1 and created_at < $2) i
      full join (${MOVED_BY_OPERATION}) m on m.operation_id = i.operation_id and m.kind = i.kind
      left join lateral (
        select * from operations x
        where i.operation_id is null and x.operation_id = m.operation_id and x.kind = m.kind limit 1
      ) p on true
      offset 0
    ) o
    left join accounts a on a.id = o.account_id
    left join api_keys k on k.id = o.key_id
    left join holds h on h.operation_id = o.operation_id and o.kind = 'charge'`,
  also: `o.earlier and o.known or ${SETTLED_LATER}`,
  rules: [
    {
      name: 'I3 stored balance is the sum of transfers',
      broken: 'a.id is null',
    },
    {
      name: MOVED_AS_SAID,
      broken: `not o.known or o.moved_n <> (o.moved_currencies & 1) + (o.moved_currencies >> 1 & 1)
          + (o.moved_currencies >> 2 & 1) + (o.moved_currencies >> 3)
        or not ${SETTLED_LATER} and (${SIGN} * coalesce(o.usd, 0) <> coalesce(o.moved_usd, 0)
          or ${SIGN} * coalesce(o.bundled, 0) <> coalesce(o.moved_bundled, 0)
          or ${SIGN} * coalesce(o.diem, 0) <> coalesce(o.moved_diem, 0))`,
    },
    {
      name: 'I5 a charge is held, settled, released or expired; anything else is done',
      broken: `o.known and (o.kind = 'charge') = (o.state = 'done')`,
    },
    {
      name: 'I5 a charge has at most one refund, of the same account and day, and of at most its amount',
      broken: `case when o.kind = 'refund' then not ${holdsOf(
        'operations',
        `x.operation_id = o.counterpart and x.kind = 'charge'`,
        `x.state = 'settled' and x.counterpart = o.operation_id and x.account_id = o.account_id and x.day = o.day
          and x.key_id is not distinct from o.key_id and x.parent_key_id is not distinct from o.parent_key_id
          and o.diem <= x.diem and o.bundled <= x.bundled and o.usd <= x.usd`,
      )} when o.counterpart is not null then not ${holdsOf(
        'operations',
        `x.operation_id = o.counterpart and x.kind = 'refund'`,
        'x.counterpart = o.operation_id',
      )} else false end`,
    },
    {
      name: 'I5 a payment from a chain is credited once, to its payer, with what was read there; any other not at all',
      broken: `o.kind = 'top_up' and o.operation_id ~ '^x402-' and not ${holdsOf(
        'top_ups',
        'x.id = o.operation_id',
        `x.state = 'credited' and x.account_id = o.account_id and x.credited_nano = o.usd and o.bundled = 0 and o.diem = 0`,
      )}`,
    },
    {
      name: 'I6 a charge took its price, or its hold where that is less',
      broken: `o.kind = 'charge' and case
        when o.state = 'settled' and o.held_usd is null
          then o.bundled + o.usd is distinct from ledger_rest(o.price_usd, o.price_diem, o.diem)
        when o.state = 'settled' then o.diem <> least(o.price_diem, o.held_diem) or o.bundled + o.usd <>
          least(coalesce(ledger_rest(o.price_usd, o.price_diem, o.diem), 0), o.held_bundled + o.held_usd)
        when o.state in ('released', 'expired') then o.diem + o.bundled + o.usd <> 0
        else false end`,
    },
    {
      name: 'I9 a charge belongs to the UTC day of its admission, and so do its transfers and its refund',
      broken: `o.known and (o.kind <> 'refund' and o.day is distinct from (o.created_at at time zone 'UTC')::date
        or o.moved_first_day <> o.day or o.moved_last_day <> o.day)`,
    },
    {
      name: 'I10 units times price per unit is the price that was charged',
      broken: `o.moved_sold is not null and o.state = 'settled' and abs(o.price_usd
        - split_part(o.moved_sold, ' ', 1)::numeric * split_part(o.moved_sold, ' ', 2)::numeric)
        > split_part(o.moved_sold, ' ', 1)::numeric + 1`,
    },
    {
      name: 'I11 no hold outlives its expiry, and none belongs to an operation that is over',
      broken: `o.kind = 'charge' and o.known and ((o.state = 'held') <> (h.operation_id is not null)
        or h.account_id <> o.account_id or h.expires_at < ledger_now() - ${SWEEP_GRACE})`,
    },
    {
      name: 'I13 an operation has exactly one payer: an account, and of its keys one with its parent',
      broken: `o.key_id is not null and (k.id is null or k.account_id <> o.account_id
          or k.parent_id is distinct from o.parent_key_id)
        or o.moved_n is not null and (o.moved_first_payer <> ${payerOf('o')} or o.moved_last_payer <> ${payerOf('o')})`,
    },
  ],
};

const TOKENS = `((t.details -> 'promptTokens')::numeric + (t.details -> 'completionTokens')::numeric)`;

/** Transfers of the slice by themselves. */
export const TRANSFER_RULES: RuleSet = {
  columns: `t.id::text, t.operation_id, t.kind, t.account_id, t.house, t.currency, t.amount, t.day::text, t.created_at,
    t.details ->> 'unit' as unit, ${UNITS} as units, t.details ->> 'promptTokens' as prompt_tokens,
    t.details ->> 'completionTokens' as completion_tokens, t.details ->> 'queueId' as queue_id`,
  from: 'from (select * from transfers where created_at >= $1 and created_at < $2) t',
  rules: [
    {
      name: 'I5 a refund names the charge that it undoes',
      broken: `t.kind = 'refund' and not ${holdsOf(
        'operations',
        `x.operation_id = t.operation_id and x.kind = 'refund'`,
        `x.counterpart = t.details ->> 'charge'`,
      )}`,
    },
    {
      name: 'I7 house and sign of a transfer are those of its kind',
      broken: `not case t.kind
        when 'charge' then t.house = 'revenue' and t.amount < 0
        when 'refund' then t.house = 'revenue' and t.amount > 0
        when 'top_up' then t.house = 'payments' and t.amount > 0
        when 'grant' then t.house = 'issuance' and t.amount > 0
        else t.house = 'adjustments' end`,
    },
    {
      name: 'I10 the units of a text call are its tokens',
      broken: `t.kind = 'charge' and t.details ->> 'unit' = 'million tokens'
        and jsonb_typeof(t.details -> 'promptTokens') = 'number'
        and jsonb_typeof(t.details -> 'completionTokens') = 'number'
        and ${UNITS} <> trim_scale(${TOKENS} * 0.000001)::text`,
    },
    {
      name: 'I12 a diem day has exactly one grant, of its allocation',
      broken: `t.kind = 'grant' and t.currency = 'diem' and t.operation_id <> 'diem:' || t.account_id || ':' || t.day`,
    },
    {
      name: 'I14 a charge for a job has its job',
      broken: `t.kind = 'charge' and t.details ? 'queueId' and not ${holdsOf(
        'jobs',
        `x.queue_id = case when t.details ->> 'queueId' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
          then (t.details ->> 'queueId')::uuid end`,
        'x.charge_operation_id::text = t.operation_id and x.account_id = t.account_id',
      )}`,
    },
  ],
};

export const JOB_RULES: RuleSet = {
  columns: `j.queue_id, j.state as job_state, j.account_id, j.price_usd_nano, j.refund_id, c.state as charge_state,
    c.account_id as payer, c.price_usd, c.counterpart`,
  from: `from (select * from jobs where created_at >= $1 and created_at < $2) j
    left join lateral (
      select * from operations x where x.operation_id = j.charge_operation_id::text and x.kind = 'charge' limit 1
    ) c on true
    left join lateral (
      select * from operations x where x.operation_id = c.counterpart and x.kind = 'refund' limit 1
    ) r on true`,
  rules: [
    {
      name: 'I6 a job is charged its price; one that ended without an output is refunded in full',
      broken: `not coalesce(c.state = 'settled' and c.price_usd = j.price_usd_nano and c.account_id = j.account_id
        and c.key_id is not distinct from j.key_id and j.refund_id is not distinct from c.counterpart
        and case when j.state in ('failed', 'timed_out', 'cancelled')
          then (r.diem, r.bundled, r.usd) is not distinct from (c.diem, c.bundled, c.usd)
          else c.counterpart is null end, false)`,
    },
  ],
};

/** Not of a slice: few jobs run at a time. */
export const OVERDUE_RULES: RuleSet = {
  columns: 'j.queue_id, j.account_id, j.state, j.deadline_at',
  from: `from (select * from jobs where state in ('accepted', 'submitted')) j`,
  rules: [
    {
      name: 'I11 no job is far past its deadline without an output or a refund',
      broken: `j.deadline_at < clock_timestamp() - ${OVERDUE_GRACE}`,
    },
  ],
};

/** Not of a slice: few holds are open at a time. */
export const HOLD_RULES: RuleSet = {
  columns: 'h.operation_id, h.account_id, h.expires_at, o.state',
  from: `from holds h left join lateral (
      select * from operations x where x.operation_id = h.operation_id and x.kind = 'charge' limit 1
    ) o on true`,
  rules: [
    {
      name: 'I11 no hold outlives its expiry, and none belongs to an operation that is over',
      broken: `o.state is distinct from 'held' or h.account_id <> o.account_id
        or h.expires_at < ledger_now() - ${SWEEP_GRACE}`,
    },
  ],
};

/** As domain/wallets and walletAccounts.ts make it: a UUID of version 8 from the digest of family and address. */
const WALLET_DIGEST = `substring(sha256(convert_to('farebox wallet ' || p.payer_family || ' ' || p.payer, 'UTF8')) from 1 for 16)`;
const WALLET_ACCOUNT = `encode(set_byte(set_byte(${WALLET_DIGEST}, 6, get_byte(${WALLET_DIGEST}, 6) & 15 | 128),
  8, get_byte(${WALLET_DIGEST}, 8) & 63 | 128), 'hex')::uuid`;

export const PAYMENT_RULES: RuleSet = {
  columns: `p.id as payment, p.state, p.payer_family, p.payer, p.amount::text, p.credited_units::text, p.credited_nano::text,
    p.account_id, w.account_id as wallet_account, o.account_id as booked_for, o.usd as booked`,
  from: `from (select * from top_ups where changed_at >= $1 and changed_at < $2) p
    left join lateral (
      select * from operations x where x.operation_id = p.id and x.kind = 'top_up' limit 1
    ) o on true
    left join wallet_accounts w on w.family = p.payer_family and w.address = p.payer`,
  rules: [
    {
      name: 'I5 a payment from a chain is credited once, to its payer, with what was read there; any other not at all',
      broken: `(p.state = 'credited') <> (o.operation_id is not null) or p.state = 'credited'
        and (o.account_id <> p.account_id or o.usd <> p.credited_nano)`,
    },
    {
      name: 'I7 a payment gives its payer the amount that was paid, and nobody else',
      broken: `p.state = 'credited' and (p.credited_units <> p.amount or w.account_id is distinct from p.account_id
          or p.credited_nano <> p.credited_units * power(10::numeric, 9 - p.decimals))
        or p.account_id <> ${WALLET_ACCOUNT}`,
    },
  ],
};

/** Read slice by slice, each with `$1` and `$2`; the operations have a statement of their own. */
export const SLICE_RULES: readonly RuleSet[] = [TRANSFER_RULES, JOB_RULES, PAYMENT_RULES, FORMER_LIMIT_RULES];

/** With their partitions, each of which has the trigger of its table. */
const APPEND_ONLY_TABLES = `(
    select tab, tab as guarded from
      unnest(array['transfers', 'audit_events', 'sealed_days', 'sealed_sums', 'sealed_balances']) as tab
    union all
    select inhrelid::regclass::text, inhparent::regclass::text from pg_inherits
      where inhparent in ('transfers'::regclass, 'audit_events'::regclass)
  )`;

export const PROTECTION_RULES: RuleSet = {
  columns: 'p.tab as "table", p.privilege',
  from: `from (select tab, guarded, privilege from ${APPEND_ONLY_TABLES} t
      cross join unnest(array['UPDATE', 'DELETE', 'TRUNCATE']) as privilege) p`,
  rules: [
    {
      name: 'I2 transfers, seals and audit are append-only for the role of the services',
      broken: `has_table_privilege('farebox_app', p.tab, p.privilege)
        or (p.privilege = 'UPDATE' and has_any_column_privilege('farebox_app', p.tab, 'UPDATE'))
        or not exists (select from pg_trigger where tgrelid = p.tab::regclass and tgname = p.guarded || '_append_only'
          and tgenabled in ('O', 'A'))`,
    },
  ],
};

/** Ranges of time that no partition of the transfers has; null: without beginning, or without end. */
export const ARCHIVED_RANGES = `(
    with ranges as (
      select r.lower, r.upper from pg_inherits i cross join lateral partition_range(i.inhrelid) r
      where i.inhparent = 'transfers'::regclass and not i.inhdetachpending
    )
    select since, until from (select lag(upper) over (order by lower nulls first) as since, lower as until from ranges) r
      where until is not null and until is distinct from since
    union all
    select max(upper), null from ranges having bool_and(upper is not null)
  )`;

export const ARCHIVE_RULES: RuleSet = {
  columns: `g.since, g.until, g.sealed_until, 'the transfers of this time are in no partition' as problem`,
  from: `from (
      select since, until, (select max(day) + 1 from sealed_days)::timestamp at time zone 'UTC' as sealed_until
      from ${ARCHIVED_RANGES} a
    ) g`,
  rules: [
    {
      name: 'I16 archived transfers are the oldest of the books, and their days are sealed',
      broken: 'not coalesce(g.since is null and g.until <= g.sealed_until, false)',
    },
  ],
};

/** Read once, without parameters. */
export const STANDING_RULES: readonly RuleSet[] = [
  PROTECTION_RULES,
  ARCHIVE_RULES,
  HOLD_RULES,
  OVERDUE_RULES,
];

export const SEALED_DAY = 'I15 a sealed day has the rows and sums that it was sealed with';

/** By name: some hold at several places. */
export const LEDGER_INVARIANTS: readonly string[] = [
  ...new Set([
    ...[OPERATION_RULES, ...SLICE_RULES, ...STANDING_RULES, ...ACCOUNT_RULES].flatMap(({ rules }) =>
      rules.map(({ name }) => name),
    ),
    SEALED_DAY,
  ]),
];
