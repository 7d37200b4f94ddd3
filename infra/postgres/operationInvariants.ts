/** Invariants of operations and their transfers, read slice by slice (`$1` inclusive to `$2` exclusive). */
import type { RuleSet } from './ruleSet.ts';
import {
  ACT_OF_CREDIT,
  EXPIRY_GRACE,
  HAS_NO_TOKENS,
  HAS_ONE_RATE,
  IS_TEXT,
  isTrueOfRow,
  JOB_PRICE,
  PRICE_PER_UNIT,
  UNITS,
  uuidOf,
} from './ruleTerms.ts';

const OPERATION_COLUMNS =
  `account_id state day key_id parent_key_id price_usd price_diem held_diem held_bundled held_usd
  diem bundled usd counterpart created_at`.split(/\s+/);

const IS_LISTED = `t.kind = 'charge' and ${IS_TEXT} and not ${HAS_NO_TOKENS}`;
/** Price that does not equal the sum of its lines. */
const UNREADABLE = -1;

const LINE = (index: number) => `(t.details #> '{lines,${index}}')`;
const TOKENS = (name: string) => `(t.details -> '${name}')`;
const AMOUNTS_OF_TWO = [LINE(0), LINE(1), LINE(2), LINE(3), TOKENS('promptTokens'), TOKENS('completionTokens')];
/**
 * Most text calls have only two lines, input and output, and a check spends most of its time on them. In the statement
 * itself they take half the time of the function. Bench `ledger-check`.
 */
const LISTED_PRICE = `case when jsonb_typeof(t.details -> 'lines') = 'array' and not t.details ? 'addOns'
      and jsonb_array_length(t.details -> 'lines') = 4
      and ${AMOUNTS_OF_TWO.map((amount) => `jsonb_typeof(${amount}) = 'number'`).join(' and ')}
    then case when ${LINE(0)}::numeric + ${LINE(2)}::numeric
        = ${TOKENS('promptTokens')}::numeric + ${TOKENS('completionTokens')}::numeric
      then ceil(${LINE(0)}::numeric * ${LINE(1)}::numeric * 0.000001)
        + ceil(${LINE(2)}::numeric * ${LINE(3)}::numeric * 0.000001) end
    else ledger_listed_price(t.details, 'lines', 'addOns') end`;

/** Hash of the payer: equal for a transfer and its operation when their account and key agree. */
function payerOf(row: string): string {
  return `uuid_hash_extended(${row}.account_id, 0) # coalesce(uuid_hash_extended(${row}.key_id, 1), 0)`;
}

/**
 * The largest amount serves as the sum: `currencies` and `n` prove that an operation moves a currency once. `offset 0`:
 * values are read from the details once per row, and rows are sorted in memory without the details.
 */
const MOVED_BY_OPERATION = `select t.operation_id, t.kind, count(*)::int as n,
    bit_or(case t.currency when 'usd' then 1 when 'bundled' then 2 when 'diem' then 4 else 8 end) as currencies,
    max(t.amount) filter (where t.currency = 'usd') as usd,
    max(t.amount) filter (where t.currency = 'bundled') as bundled,
    max(t.amount) filter (where t.currency = 'diem') as diem,
    min(t.day) as first_day, max(t.day) as last_day, min(t.payer) as first_payer, max(t.payer) as last_payer,
    max(t.amount) filter (where t.currency = 'vcu') as vcu,
    max(t.sold) as sold, max(t.listed) as listed, max(t.listed_diem) as listed_diem
  from (
    select t.operation_id, t.kind, t.currency, t.amount, t.day, ${payerOf('t')} as payer,
      case when ${HAS_ONE_RATE} then ${UNITS} || ' ' || ${PRICE_PER_UNIT} end as sold,
      case when ${IS_LISTED} then coalesce(${LISTED_PRICE}, ${UNREADABLE}) end as listed,
      case when t.currency = 'diem' and ${IS_LISTED} then coalesce(ledger_listed_price(t.details,
        case when t.details ? 'diemLines' then 'diemLines' else 'lines' end,
        case when t.details ? 'diemAddOns' then 'diemAddOns' else 'addOns' end), ${UNREADABLE}) end as listed_diem
    from transfers t where t.created_at >= $1 and t.created_at < $2 offset 0
  ) t group by t.operation_id, t.kind`;
const MOVED_COLUMNS =
  `n currencies usd bundled diem vcu first_day last_day first_payer last_payer sold listed listed_diem`.split(' ');

export const MOVED_AS_SAID = 'I5 an operation moved exactly what it says, once per currency';

const IS_DIEM_GRANT = `o.kind = 'grant' and o.moved_currencies = 4 and o.operation_id = 'diem:' || o.account_id || ':' || o.day`;

/** Amount of a charge that is left to pay. */
const UNPAID = (row: string) =>
  `ledger_unpaid(${row}.price_usd, ${row}.price_diem, ${row}.diem, ${row}.bundled + ${row}.usd)`;

/** A client that left pays its hold at most, and its entry is marked: the lines exceed the hold, taken in full. */
const IS_UP_TO_HOLD = `o.held_usd is not null
  and (o.bundled + o.usd = o.held_bundled + o.held_usd or o.diem = o.held_diem and o.diem > 0)
  and exists (select from transfers t where t.account_id = o.account_id and t.created_at >= o.created_at
    and t.operation_id = o.operation_id and t.kind = 'charge' and t.details ? 'upToHold')`;

/** Hold settled after the end of the slice: its transfers are expected in a later one. */
const SETTLED_LATER = `(o.known and o.moved_n is null and not o.earlier and o.kind = 'charge' and o.held_usd is not null
    and o.state = 'settled' and o.diem + o.bundled + o.usd > 0)`;
const SIGN = `(case o.kind when 'charge' then -1 else 1 end)`;

/**
 * Operations of the slice with their transfers in it, and earlier operations with transfers in it. `offset 0` and
 * `limit 1` force look-ups of single rows by key: a join would read all operations. Other partitions of the operations
 * are opened only for a `missing` one.
 *
 * A price per unit may be rounded up (a surcharge) or down (several pictures of one price), by less than one nano unit per
 * unit sold; the whole is rounded up once.
 */
export const OPERATION_RULES: RuleSet = {
  columns: `o.operation_id, o.kind, o.account_id, o.key_id, o.state, o.day::text, o.created_at, o.price_usd, o.price_diem,
    o.held_diem, o.held_bundled, o.held_usd, o.diem, o.bundled, o.usd, o.moved_diem, o.moved_bundled, o.moved_usd,
    o.moved_n as transfers, o.moved_first_day::text, o.moved_last_day::text, o.counterpart, o.moved_sold as sold,
    o.moved_listed as listed_price, o.moved_vcu, o.earlier,
    ${SETTLED_LATER} as settled_later`,
  from: `from (
      select coalesce(i.operation_id, m.operation_id) as operation_id, coalesce(i.kind, m.kind) as kind,
        ${OPERATION_COLUMNS.map((column) => `coalesce(i.${column}, p.${column}) as ${column}`).join(', ')},
        coalesce(i.operation_id, p.operation_id) is not null as known, i.operation_id is null as earlier,
        ${MOVED_COLUMNS.map((column) => `m.${column} as moved_${column}`).join(', ')}
      from (select * from operations where created_at >= $1 and created_at < $2) i
      full join (${MOVED_BY_OPERATION}) m on m.operation_id = i.operation_id and m.kind = i.kind
      left join lateral (
        select x.* from (select where i.operation_id is null offset 0) missing cross join lateral (
          select * from operations x where x.operation_id = m.operation_id and x.kind = m.kind limit 1) x
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
        or o.moved_currencies > 7 and (o.moved_currencies > 8 or o.kind not in ('grant', 'adjustment'))
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
      broken: `case when o.kind = 'refund' then not ${isTrueOfRow(
        'operations',
        `x.operation_id = o.counterpart and x.kind = 'charge'`,
        `x.state = 'settled' and x.counterpart = o.operation_id and x.account_id = o.account_id and x.day = o.day
          and x.key_id is not distinct from o.key_id and x.parent_key_id is not distinct from o.parent_key_id
          and o.diem <= x.diem and o.bundled <= x.bundled and o.usd <= x.usd`,
      )} when o.counterpart is not null then not ${isTrueOfRow(
        'operations',
        `x.operation_id = o.counterpart and x.kind = 'refund'`,
        'x.counterpart = o.operation_id',
      )} else false end`,
    },
    {
      name: 'I5 a payment from a chain is credited once, to its payer, with what was read there; any other not at all',
      broken: `o.kind = 'top_up' and not ${isTrueOfRow(
        'top_ups',
        'x.id = o.operation_id',
        `x.state = 'credited' and x.account_id = o.account_id and x.credited_nano = o.usd and o.bundled = 0 and o.diem = 0`,
      )}`,
    },
    {
      name: ACT_OF_CREDIT,
      broken: `o.known and o.kind in ('grant', 'adjustment') and not (${IS_DIEM_GRANT}) and not ${isTrueOfRow(
        'audit_events',
        `x.target_id = o.operation_id and x.action = 'credit.' || case o.kind when 'grant' then 'grant' else 'adjust' end`,
        `x.account_id = o.account_id and x.changes ->> 'currency' = case o.moved_currencies
            when 1 then 'usd' when 2 then 'bundled' when 4 then 'diem' when 8 then 'vcu' end
          and case when x.changes ->> 'amount' ~ '^-?\\d{1,15}(\\.\\d{1,9})?$'
            then (x.changes ->> 'amount')::numeric * 1000000000 end
            = coalesce(o.moved_usd, o.moved_bundled, o.moved_diem, o.moved_vcu)`,
      )}`,
    },
    {
      name: JOB_PRICE,
      broken: `o.kind = 'refund' and ${isTrueOfRow(
        'jobs',
        `x.queue_id = ${uuidOf('o.counterpart')}`,
        `x.refund_id is distinct from o.operation_id or x.state not in ('failed', 'timed_out', 'cancelled')`,
      )}`,
    },
    {
      name: 'I6 what exceeds a hold is one charge of its own, of what was left to pay',
      broken: `o.kind = 'charge' and o.known and case
        when o.operation_id like '%:rest' then not ${isTrueOfRow(
          'operations',
          `x.operation_id = left(o.operation_id, -5) and x.kind = 'charge'`,
          `x.account_id = o.account_id and x.key_id is not distinct from o.key_id and case x.state
            when 'settled' then (o.price_usd, o.price_diem) = (select u.usd, u.diem from ${UNPAID('x')} u)
            else x.state in ('released', 'expired') end`,
        )}
        when o.state = 'settled' and o.held_usd is not null
            and (o.price_usd > o.bundled + o.usd or o.price_usd = 0 and o.price_diem > o.diem)
          then (select u.usd > 0 or u.diem > 0 from ${UNPAID('o')} u) and not ${isTrueOfRow(
            'operations',
            `x.operation_id = o.operation_id || ':rest' and x.kind = 'charge'`,
            'true',
          )}
        else false end`,
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
      name: 'I10 the lines of a text call come to the price that was charged, or to more than its hold',
      broken: `o.moved_listed is not null and o.state = 'settled'
        and (o.moved_listed <> o.price_usd or coalesce(o.moved_listed_diem, o.price_diem) <> o.price_diem)
        and not (o.moved_listed >= o.price_usd and coalesce(o.moved_listed_diem, o.price_diem) >= o.price_diem
          and ${IS_UP_TO_HOLD})`,
    },
    {
      name: 'I11 no hold outlives its expiry, and none belongs to an operation that is over',
      broken: `o.kind = 'charge' and o.known and ((o.state = 'held') <> (h.operation_id is not null)
        or h.account_id <> o.account_id or h.expires_at < ledger_now() - ${EXPIRY_GRACE})`,
    },
    {
      name: 'I13 an operation has exactly one payer: an account, and of its keys one with its parent',
      broken: `o.key_id is not null and (k.id is null or k.account_id <> o.account_id
          or k.parent_id is distinct from o.parent_key_id)
        or o.moved_n is not null and (o.moved_first_payer <> ${payerOf('o')} or o.moved_last_payer <> ${payerOf('o')})`,
    },
  ],
};

/** Rules that need no transfers, for months whose transfers are archived. */
export const ARCHIVED_OPERATION_RULES: RuleSet = {
  columns: OPERATION_RULES.columns,
  from: OPERATION_RULES.from,
  rules: OPERATION_RULES.rules.filter(({ name }) => name !== MOVED_AS_SAID && name !== ACT_OF_CREDIT),
};
