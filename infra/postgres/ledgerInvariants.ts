/**
 * The invariants of the ledger as SQL conditions that no row may meet. Each set of rules reads one slice of the books
 * (`$1` inclusive to `$2` exclusive, by time) or one page of accounts, and recomputes stored values where it can. The
 * sum of all accounts against the house, and the payments of a wallet against its funds, follow from I3 and I5.
 */
import { ACCOUNT_RULES } from './accountInvariants.ts';
import { FORMER_LIMIT_RULES } from './formerLimits.ts';
import { OPERATION_RULES } from './operationInvariants.ts';
import type { RuleSet } from './ruleSet.ts';
import {
  ACT_OF_CREDIT,
  ARCHIVED_RANGES,
  EXPIRY_GRACE,
  HAS_NO_TOKENS,
  IS_DECIMAL,
  IS_DIGITS,
  IS_JOB,
  IS_TEXT,
  isTrueOfRow,
  JOB_PRICE,
  PRICE_PER_UNIT,
  UNIT,
  UNITS,
  uuidOf,
} from './ruleTerms.ts';

/** Time after its deadline within which a job must be refunded. */
const OVERDUE_GRACE = "interval '1 hour'";

const TOKENS = `((t.details -> 'promptTokens')::numeric + (t.details -> 'completionTokens')::numeric)`;

/** Rules of single transfers of the slice. */
const TRANSFER_RULES: RuleSet = {
  columns: `t.id::text, t.operation_id, t.kind, t.account_id, t.house, t.currency, t.amount, t.day::text, t.created_at,
    t.details ->> 'unit' as unit, ${UNITS} as units, t.details ->> 'promptTokens' as prompt_tokens,
    t.details ->> 'completionTokens' as completion_tokens, t.details ->> 'queueId' as queue_id`,
  from: 'from (select * from transfers where created_at >= $1 and created_at < $2) t',
  rules: [
    {
      name: 'I5 a refund names the charge that it undoes',
      broken: `t.kind = 'refund' and not ${isTrueOfRow(
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
      name: 'I10 a charge says what it sold: units and their price, of a text call its tokens and their rates',
      broken: `t.kind = 'charge' and not coalesce(t.details ? 'sku' and case
        when ${HAS_NO_TOKENS} then t.operation_id = (t.details ->> 'restOf') || ':rest' and ${UNITS} = '0' and ${UNIT} <> ''
        when ${IS_TEXT} then t.details ? 'lines' and jsonb_typeof(t.details -> 'promptTokens') = 'number'
          and jsonb_typeof(t.details -> 'completionTokens') = 'number'
        else ${UNIT} <> '' and ${UNITS} ${IS_DECIMAL} and ${PRICE_PER_UNIT} ${IS_DIGITS} end, false)`,
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
      broken: `t.kind = 'charge' and (t.details ? 'queueId' or ${IS_JOB}) and not ${isTrueOfRow(
        'jobs',
        `x.queue_id = ${uuidOf(`coalesce(t.details ->> 'queueId', t.operation_id)`)}`,
        'x.charge_operation_id::text = t.operation_id and x.account_id = t.account_id',
      )}`,
    },
  ],
};

const JOB_RULES: RuleSet = {
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
      name: JOB_PRICE,
      broken: `not coalesce(c.state = 'settled' and c.price_usd = j.price_usd_nano and c.account_id = j.account_id
        and c.key_id is not distinct from j.key_id and j.refund_id is not distinct from c.counterpart
        and case when j.state in ('failed', 'timed_out', 'cancelled')
          then (r.diem, r.bundled, r.usd) is not distinct from (c.diem, c.bundled, c.usd)
          else c.counterpart is null end, false)`,
    },
  ],
};

/** Over all rows: few jobs run at a time. */
const OVERDUE_RULES: RuleSet = {
  columns: 'j.queue_id, j.account_id, j.state, j.deadline_at',
  from: `from (select * from jobs where state in ('accepted', 'submitted')) j`,
  rules: [
    {
      name: 'I11 no job is far past its deadline without an output or a refund',
      broken: `j.deadline_at < clock_timestamp() - ${OVERDUE_GRACE}`,
    },
  ],
};

/** Over all rows: few holds are open at a time. */
const HOLD_RULES: RuleSet = {
  columns: 'h.operation_id, h.account_id, h.expires_at, o.state',
  from: `from holds h left join lateral (
      select * from operations x where x.operation_id = h.operation_id and x.kind = 'charge' limit 1
    ) o on true`,
  rules: [
    {
      name: 'I11 no hold outlives its expiry, and none belongs to an operation that is over',
      broken: `o.state is distinct from 'held' or h.account_id <> o.account_id
        or h.expires_at < ledger_now() - ${EXPIRY_GRACE}`,
    },
  ],
};

/** As domain/wallets and walletAccounts.ts make it: a UUID of version 8 from the digest of family and address. */
const WALLET_DIGEST = `substring(sha256(convert_to('farebox wallet ' || p.payer_family || ' ' || p.payer, 'UTF8')) from 1 for 16)`;
const WALLET_ACCOUNT = `encode(set_byte(set_byte(${WALLET_DIGEST}, 6, get_byte(${WALLET_DIGEST}, 6) & 15 | 128),
  8, get_byte(${WALLET_DIGEST}, 8) & 63 | 128), 'hex')::uuid`;

const PAYMENT_RULES: RuleSet = {
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

const ACT_RULES: RuleSet = {
  columns: 'a.id::text, a.created_at, a.account_id, a.action, a.target_id, a.changes',
  from: 'from (select * from audit_events where created_at >= $1 and created_at < $2) a',
  rules: [
    {
      name: ACT_OF_CREDIT,
      broken: `a.action in ('credit.grant', 'credit.adjust') and not ${isTrueOfRow(
        'operations',
        `x.operation_id = a.target_id and x.kind = any (case a.action
          when 'credit.grant' then array['grant', 'top_up'] else array['adjustment'] end)`,
        'x.account_id = a.account_id',
      )}`,
    },
  ],
};

/** Read slice by slice, each with `$1` and `$2`; the operations have a statement of their own. */
export const SLICE_RULES: readonly RuleSet[] = [
  TRANSFER_RULES,
  JOB_RULES,
  PAYMENT_RULES,
  ACT_RULES,
  FORMER_LIMIT_RULES,
];

/** With their partitions, each of which has the trigger of its table. */
const APPEND_ONLY_TABLES = `(
    with guarded (tab, guard) as (values ('transfers', 'refuse_change'), ('audit_events', 'refuse_audit_change'),
      ('sealed_days', 'refuse_seal_change'), ('sealed_sums', 'refuse_seal_change'), ('sealed_balances', 'refuse_seal_change'))
    select tab, tab as guarded, guard from guarded
    union all
    select inhrelid::regclass::text, tab, guard from guarded join pg_inherits on inhparent = tab::regclass
  )`;
/** Bodies of the trigger functions, ignoring spaces. An erasure may change the audit trail (erase_audit). */
const GUARD_BODY = String.raw`^begin (if tg_op = 'UPDATE' and current_setting\('farebox.erasing', true\) = 'on' then return null; end if; )?raise exception '% is append-only[^']*', tg_table_name using errcode = 'restrict_violation'; end;?$`;
/** The bits of pg_trigger.tgtype: before update, delete and truncate, for each statement. */
const GUARD_BITS = { all: 2 + 8 + 16 + 32, row: 1 };

const PROTECTION_RULES: RuleSet = {
  columns: 'p.tab as "table", p.privilege',
  from: `from (select tab, guarded, guard, privilege from ${APPEND_ONLY_TABLES} t
      cross join unnest(array['UPDATE', 'DELETE', 'TRUNCATE']) as privilege
    union all
    select tab, tab, 'refuse_seal_change', 'INSERT' from unnest(array['sealed_days', 'sealed_sums', 'sealed_balances']) as tab
    ) p`,
  rules: [
    {
      name: 'I2 transfers, seals and audit are append-only for the role of the services',
      broken: `has_table_privilege('farebox_app', p.tab, p.privilege)
        or (p.privilege in ('INSERT', 'UPDATE') and has_any_column_privilege('farebox_app', p.tab, p.privilege))
        or not exists (select from pg_trigger g join pg_proc f on f.oid = g.tgfoid
          where g.tgrelid = p.tab::regclass and g.tgname = p.guarded || '_append_only' and g.tgenabled in ('O', 'A')
            and g.tgtype & ${GUARD_BITS.all} = ${GUARD_BITS.all} and g.tgtype & ${GUARD_BITS.row} = 0 and g.tgqual is null
            and f.proname = p.guard and (p.guard = 'refuse_audit_change' or f.prosrc !~ 'erasing')
            and btrim(regexp_replace(f.prosrc, '\\s+', ' ', 'g')) ~ $guard$${GUARD_BODY}$guard$)`,
    },
  ],
};

const ARCHIVE_RULES: RuleSet = {
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

export const SEALED_DAY = 'I15 a sealed day has the rows and sums that it was sealed with';

/** Rules for every seal; the rows behind a seal are read by a full check only. */
const SEAL_RULES: RuleSet = {
  columns: 's.day::text, s.before::text, s.today::text',
  from: `from (
      select d.day, lag(d.day) over by_day as before, (ledger_now() at time zone 'UTC')::date as today,
        d.chain is distinct from seal_chain(lag(d.chain) over by_day, d) as is_changed
      from sealed_days d window by_day as (order by d.day)
    ) s`,
  rules: [
    {
      name: 'I15 seals follow each other without a gap, each with the digest of those before it, of days that are over',
      broken: 's.before <> s.day - 1 or s.day >= s.today or s.is_changed',
    },
  ],
};

/** Balances of the month of the newest seal: a check builds on the newest of each account. */
const SEALED_BALANCE_RULES: RuleSet = {
  columns: `b.account_id, b.day::text, b.usd, b.usd_due, b.bundled, b.bundled_due, b.vcu, b.vcu_due`,
  from: `from (
      with range as (select date_trunc('month', max(day))::date as first from sealed_days), moved as (
        select account_id, day, sum(amount) filter (where currency = 'usd') as usd,
          sum(amount) filter (where currency = 'bundled') as bundled, sum(amount) filter (where currency = 'vcu') as vcu
        from sealed_sums where day >= (select first from range) group by account_id, day
      ), stored as (
        select *, lag(day) over of_account is null as is_first, lag(usd) over of_account as usd_before,
          lag(bundled) over of_account as bundled_before, lag(vcu) over of_account as vcu_before
        from sealed_balances where day >= (select first from range) window of_account as (partition by account_id order by day)
      )
      select account_id, day, s.usd, s.bundled, s.vcu, coalesce(s.usd_before, e.usd, 0) + coalesce(m.usd, 0) as usd_due,
        coalesce(s.bundled_before, e.bundled, 0) + coalesce(m.bundled, 0) as bundled_due,
        coalesce(s.vcu_before, e.vcu, 0) + coalesce(m.vcu, 0) as vcu_due
      from stored s full join moved m using (account_id, day) left join lateral (
        select x.usd, x.bundled, x.vcu from sealed_balances x where s.is_first and x.account_id = s.account_id and x.day < s.day
        order by x.day desc limit 1
      ) e on true
    ) b`,
  rules: [
    {
      name: 'I15 a sealed balance is the one before it with what the sealed day moved',
      broken: '(b.usd, b.bundled, b.vcu) is distinct from (b.usd_due, b.bundled_due, b.vcu_due)',
    },
  ],
};

/** Read once, without parameters. */
export const STANDING_RULES: readonly RuleSet[] = [
  PROTECTION_RULES,
  SEAL_RULES,
  SEALED_BALANCE_RULES,
  ARCHIVE_RULES,
  HOLD_RULES,
  OVERDUE_RULES,
];

/** By name: some rules apply at several places. */
export const LEDGER_INVARIANTS: readonly string[] = [
  ...new Set([
    ...[OPERATION_RULES, ...SLICE_RULES, ...STANDING_RULES, ...ACCOUNT_RULES].flatMap(({ rules }) =>
      rules.map(({ name }) => name),
    ),
    SEALED_DAY,
  ]),
];
