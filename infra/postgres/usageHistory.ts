/**
 * Billed entries of an account, in booking order (ACCOUNT-12).
 *
 * Ids are assigned under the lock of the account, so that a lower id of an account has committed earlier: the rows up to
 * a visible id are complete and never change. A walk fixes that id first (its horizon), and then reads those rows by
 * time and id. Later bookings lie beyond it, even when a clock was set back.
 */

import type { SqlClient } from './pool.ts';
import { runLedgerStatement } from './runLedgerStatement.ts';

export interface UsageRange {
  accountId: string;
  /** ISO time to the microsecond, inclusive; null: from the beginning. */
  from: string | null;
  /** Exclusive; null: without end. */
  to: string | null;
  currency: 'usd' | 'diem' | 'bundled' | null;
}

/** Last entry of a page: the next ones are later, or as late with a greater id. */
export interface UsagePlace {
  /** ISO time to the microsecond. */
  at: string;
  /** Decimal string. */
  id: string;
}

export interface UsageStep {
  /** From `usageHorizon`. */
  horizon: string;
  /** Null: from the start of the range. */
  after: UsagePlace | null;
  limit: number;
}

export interface UsageRow extends UsagePlace {
  sku: string;
  /** Decimal string; below zero where a refund took back what was sold. */
  units: string;
  priceNano: bigint;
  /** Billed: above zero for a charge, below for a refund. */
  amountNano: bigint;
  currency: 'usd' | 'diem' | 'bundled';
  notes: string;
  requestId: string | null;
  executionMs: number | null;
  promptTokens: number | null;
  completionTokens: number | null;
}

/**
 * Ids follow time unless a clock was set back: then the newest id is among the newest entries by time, but not the
 * last. If a wrong clock booked more entries than these, the rest appears when the clock has caught up.
 */
const NEWEST = 200;

/** Highest id that a walk reads when it starts now; `today` is the database's UTC day. */
export async function usageHorizon(sql: SqlClient, accountId: string): Promise<{ horizon: string; today: string }> {
  const rows = await runLedgerStatement<{ horizon: string; today: string }>(sql, {
    name: 'usage_horizon',
    text: `select coalesce(max(id), 0)::text as horizon, (ledger_now() at time zone 'UTC')::date::text as today
      from (select id from transfers where account_id = $1 order by created_at desc, id desc limit ${NEWEST}) newest`,
    values: [accountId],
  });
  return rows[0] ?? { horizon: '0', today: '' };
}

interface StoredRow {
  at: string;
  id: string;
  sku: string;
  units: string;
  price_nano: string;
  amount_nano: string;
  currency: UsageRow['currency'];
  notes: string;
  request_id: string | null;
  execution_ms: string | null;
  prompt_tokens: string | null;
  completion_tokens: string | null;
}

/** The next entries of a walk, oldest first. */
export async function usagePage(sql: SqlClient, range: UsageRange, step: UsageStep): Promise<UsageRow[]> {
  const rows = await runLedgerStatement<StoredRow>(sql, {
    name: range.currency === null ? 'usage_page' : 'usage_page_currency',
    text: `select "timestamp" as at, id::text, sku, units, price_nano::text, amount_nano::text, currency, notes,
        request_id, execution_ms, prompt_tokens, completion_tokens ${entriesOf(range)}`,
    values: argumentsOf(range, step),
  });
  return rows.map(toUsageRow);
}

/** Rows of a step, in order; `>=` skips the partitions before them. Takes the values of `argumentsOf`. */
export function entriesOf(range: UsageRange): string {
  return `from usage_entries
    where account_id = $1 and (created_at, id) > ($2::timestamptz, $3::bigint)
      and created_at >= $2::timestamptz and created_at < $4::timestamptz and id <= $5::bigint ${range.currency === null ? '' : 'and currency = $7'}
    order by created_at, id limit $6`;
}

export function argumentsOf(range: UsageRange, step: UsageStep): unknown[] {
  // Ids begin at 1: everything at the first instant of the range is after id 0.
  const after = step.after ?? { at: range.from ?? '-infinity', id: '0' };
  return [
    range.accountId,
    after.at,
    after.id,
    range.to ?? 'infinity',
    step.horizon,
    step.limit,
    ...(range.currency === null ? [] : [range.currency]),
  ];
}

function toUsageRow(row: StoredRow): UsageRow {
  return {
    at: row.at,
    id: row.id,
    sku: row.sku,
    units: row.units,
    priceNano: BigInt(row.price_nano),
    amountNano: BigInt(row.amount_nano),
    currency: row.currency,
    notes: row.notes,
    requestId: row.request_id,
    executionMs: toCount(row.execution_ms),
    promptTokens: toCount(row.prompt_tokens),
    completionTokens: toCount(row.completion_tokens),
  };
}

function toCount(column: string | null): number | null {
  return column === null ? null : Number(column);
}
