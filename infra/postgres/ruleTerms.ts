/** Expressions and names that several sets of rules share. `t` is a transfer. */

/** Longest time from the expiry of a hold to its end by the schedule `expireHolds`. */
export const EXPIRY_GRACE = "interval '15 minutes'";

export const UNITS = `(t.details ->> 'units')`;
export const PRICE_PER_UNIT = `(t.details ->> 'pricePerUnitUsd')`;
export const IS_DECIMAL = `~ '^\\d{1,15}(\\.\\d{1,9})?$'`;
export const IS_DIGITS = `~ '^\\d{1,15}$'`;
export const UNIT = `(t.details ->> 'unit')`;
export const IS_TEXT = `${UNIT} = 'million tokens'`;
/** True for the charge beyond a settled hold: the entry of the hold has the units and tokens. */
export const HAS_NO_TOKENS = `(t.details ? 'restOf' and ${UNITS} = '0')`;
/** Units by which only jobs are sold. */
export const IS_JOB = `${UNIT} in ('minute', 'second', 'generation', 'thousand characters')`;
/**
 * Text calls have several rates (prompt, cache, output, search), and their entry names that of the output. A charge
 * beyond a settled hold counts no units again.
 */
export const HAS_ONE_RATE = `t.kind = 'charge' and t.details ->> 'unit' <> 'million tokens'
  and not (t.details ? 'restOf' and ${UNITS} = '0') and ${UNITS} ${IS_DECIMAL} and ${PRICE_PER_UNIT} ${IS_DIGITS}`;

export const JOB_PRICE = 'I6 a job is charged its price; one that ended without an output is refunded in full';
export const ACT_OF_CREDIT =
  'I5 credit that was given or corrected has its act in the audit trail, and such an act its credit';

export function uuidOf(text: string): string {
  return `case when ${text} ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (${text})::uuid end`;
}

/** Subquery for one row by its key, evaluated only where it is reached: a join would run for every operation. */
export function isTrueOfRow(table: string, where: string, condition: string): string {
  return `coalesce((select ${condition} from ${table} x where ${where} limit 1), false)`;
}

/** Time ranges without a partition of the transfers; null: unbounded. */
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
