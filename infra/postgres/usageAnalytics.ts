/** Billed amounts of an account, summed by day, model and key: one pass over one range of its entries (ACCOUNT-14). */
import pg from 'pg';
import { FareboxError } from '../../domain/errors.ts';
import type { Nano } from '../../domain/money.ts';
import { asLedgerError } from './failures.ts';
import type { SqlClient } from './pool.ts';
import { runLedgerStatement } from './runLedgerStatement.ts';

export interface UsageDays {
  accountId: string;
  /** UTC days (`YYYY-MM-DD`), both inclusive, by booking time. */
  firstDay: string;
  lastDay: string;
  /** From `usageHorizon`. */
  horizon: string;
}

export interface UsageSums {
  /** Paid with usd or bundled credit. */
  usd: Nano;
  diem: Nano;
  /** Decimal string; each sale counts once, however many currencies paid for it. */
  units: string;
}

export interface UsageAnalytics {
  days: (UsageSums & { day: string })[];
  skus: (UsageSums & { model: string; unit: string; sku: string })[];
  modelDays: (UsageSums & { day: string; model: string })[];
  keys: (UsageSums & { keyId: string | null })[];
  keyDays: (UsageSums & { day: string; keyId: string | null })[];
}

interface SumsRow {
  /** Bit mask of the columns that a row sums over: day 16, model 8, unit 4, sku 2, key 1. */
  absent: number;
  day: string;
  model: string;
  unit: string;
  sku: string;
  key_id: string | null;
  usd: string;
  diem: string;
  units: string;
}

/** The parts of one sale are booked consecutively: its units are those of the first. */
const SUMS = `with entry as (
    select (created_at at time zone 'UTC')::date as day, coalesce(model_id, sku) as model,
      coalesce(unit_name, 'unit') as unit, sku, key_id,
      case when currency = 'diem' then 0 else amount_nano end as usd,
      case when currency = 'diem' then amount_nano else 0 end as diem,
      case when lag(operation_id) over walk = operation_id and lag(kind) over walk = kind then 0
        else units::numeric end as units
    from usage_entries
    where account_id = $1 and created_at >= $2::date::timestamp at time zone 'UTC'
      and created_at < ($3::date + 1)::timestamp at time zone 'UTC' and id <= $4::bigint
    window walk as (order by created_at, id)
  )
  select grouping(day, model, unit, sku, key_id) as absent, day::text, model, unit, sku, key_id,
    sum(usd)::text as usd, sum(diem)::text as diem, sum(units)::text as units
  from entry
  group by grouping sets ((day), (model, unit, sku), (day, model), (key_id), (day, key_id))`;

/** Throws FareboxError `timed_out` when the sum takes longer than a statement may. */
export async function usageAnalytics(sql: SqlClient, days: UsageDays): Promise<UsageAnalytics> {
  const { accountId, firstDay, lastDay, horizon } = days;
  try {
    const { rows } = await sql.query<SumsRow>({
      name: 'usage_analytics',
      text: SUMS,
      values: [accountId, firstDay, lastDay, horizon],
    });
    return toAnalytics(rows);
  } catch (error) {
    throw isCancelled(error) ? tooMuch(error) : asLedgerError(error);
  }
}

/** query_canceled: the statement timeout. */
function isCancelled(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '57014';
}

function tooMuch(cause: unknown): FareboxError {
  const message = 'The analytics took too long. Please ask for fewer days.';
  return new FareboxError({ code: 'timed_out', message, cause });
}

function toAnalytics(rows: SumsRow[]): UsageAnalytics {
  const about = (absent: number) => rows.filter((row) => row.absent === absent);
  return {
    days: about(0b01111).map((row) => ({ ...toSums(row), day: row.day })),
    skus: about(0b10001).map((row) => ({
      ...toSums(row),
      model: row.model,
      unit: row.unit,
      sku: row.sku,
    })),
    modelDays: about(0b00111).map((row) => ({ ...toSums(row), day: row.day, model: row.model })),
    keys: about(0b11110).map((row) => ({ ...toSums(row), keyId: row.key_id })),
    keyDays: about(0b01110).map((row) => ({ ...toSums(row), day: row.day, keyId: row.key_id })),
  };
}

function toSums(row: SumsRow): UsageSums {
  return { usd: BigInt(row.usd), diem: BigInt(row.diem), units: row.units };
}

export interface KeyName {
  id: string;
  description: string;
  last6: string;
}

/** Descriptions of an account's keys, including revoked ones. */
export async function keyNames(sql: SqlClient, accountId: string, keyIds: string[]): Promise<KeyName[]> {
  if (keyIds.length === 0) return [];
  return await runLedgerStatement<KeyName & Record<string, string>>(sql, {
    name: 'usage_key_names',
    text: 'select id, description, last6 from api_keys where account_id = $1 and id = any ($2::uuid[])',
    values: [accountId, keyIds],
  });
}
