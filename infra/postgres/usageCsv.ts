/**
 * Usage entries as RFC 4180 text, written by the database: one column of text per batch costs this process next to
 * nothing per entry (bench `usage`). Amounts are exact decimals.
 */
import type { SqlClient } from './pool.ts';
import { runLedgerStatement } from './runLedgerStatement.ts';
import { argumentsOf, entriesOf, type UsagePlace, type UsageRange, type UsageStep } from './usageHistory.ts';

/** Without a line end. */
export const USAGE_CSV_HEADER = [
  'timestamp',
  'sku',
  'pricePerUnitUsd',
  'units',
  'amount',
  'currency',
  'notes',
  'inferenceDetails.requestId',
  'inferenceDetails.inferenceExecutionTime',
  'inferenceDetails.promptTokens',
  'inferenceDetails.completionTokens',
].join(',');

/** Quotes text that contains a separator, a quote or a line break. */
const quoted = (text: string) =>
  `case when ${text} ~ '[",\\r\\n]' then '"' || replace(${text}, '"', '""') || '"' else ${text} end`;

/** Multiplied, not divided: the product has all nine decimals of every bigint. */
const units = (nano: string) => `trim_scale(${nano} * 0.000000001)`;

/**
 * Notes are free text, partly foreign: one that a spreadsheet would run as a formula gets an apostrophe in front. The
 * other columns are numbers, which may begin with a minus, and identifiers, which must not change.
 */
const GUARDED_NOTES = `case when left(notes, 1) in ('=', '+', '-', '@', e'\\t', e'\\r') then '''' || notes else notes end`;

const LINE = `concat(at, ',', ${quoted('sku')}, ',', ${units('price_nano')}, ',', units, ',', ${units('amount_nano')},
  ',', case currency when 'bundled' then 'BUNDLED_CREDITS' else upper(currency) end, ',', ${quoted('notes')}, ',',
  ${quoted('request_id')}, ',', execution_ms, ',', prompt_tokens, ',', completion_tokens, e'\\r\\n')`;

export interface UsageLines {
  /** Whole lines. */
  text: string;
  count: number;
  /** Place of the last line; null without lines. */
  last: UsagePlace | null;
}

/** The next entries of a walk as lines, oldest first. */
export async function usageLines(sql: SqlClient, range: UsageRange, step: UsageStep): Promise<UsageLines> {
  const rows = await runLedgerStatement<{
    text: string | null;
    count: number;
    at: string | null;
    id: string;
  }>(sql, {
    name: range.currency === null ? 'usage_lines' : 'usage_lines_currency',
    // The aggregates read the rows in the order of the subquery.
    text: `select string_agg(${LINE}, '') as text, count(*)::int as count,
          (array_agg(at))[count(*)] as at, (array_agg(id))[count(*)]::text as id
        from (select id, "timestamp" as at, sku, price_nano, units, amount_nano, currency,
            ${GUARDED_NOTES} as notes, request_id, execution_ms, prompt_tokens, completion_tokens
          ${entriesOf(range)}) entry`,
    values: argumentsOf(range, step),
  });
  const row = rows[0];
  if (row?.text == null || row.at === null) return { text: '', count: 0, last: null };
  return { text: row.text, count: row.count, last: { at: row.at, id: row.id } };
}
