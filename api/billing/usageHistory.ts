/**
 * GET /billing/usage-history (ACCOUNT-12, ACCOUNT-13): billed entries, oldest first, as JSON pages or as CSV.
 * `Accept: text/csv` without a page size returns one CSV stream of the whole range.
 */

import { CURRENCY_NAMES } from '../../domain/currencyNames.ts';
import { nanoToNumber } from '../../domain/money.ts';
import { signingKey } from '../../infra/postgres/signingKey.ts';
import { type UsageRange, type UsageRow, usageHorizon, usagePage } from '../../infra/postgres/usageHistory.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Answer, json } from '../http/answer.ts';
import { defineRoute } from '../http/route.ts';
import { BILLING_DESCRIPTIONS } from './openapi.ts';
import { toMicroseconds } from './timestamps.ts';
import { csvPage, csvStream } from './usageCsv.ts';
import { decodeUsageCursor, encodeUsageCursor, type UsageCursor } from './usageCursor.ts';
import { MAX_PAGE, type UsageQuery, usageQuery } from './usageQuery.ts';

/** With and without the parameter: a client that names it accepts only types with it. */
const OFFERED = ['application/json', 'application/json;charset=utf-8', 'text/csv', 'text/csv;charset=utf-8'];

/** The answer depends on it, so caches must distinguish them. */
const HEADERS = { Vary: 'Accept' };

export const usageHistoryRoute = defineRoute({
  method: 'GET',
  path: '/billing/usage-history',
  access: 'admin',
  query: usageQuery,
  describes: BILLING_DESCRIPTIONS.history,
  async handler(dependencies, { caller, query, accepts }) {
    const key = await signingKey(dependencies.core.sql);
    const walk = await walkOf(dependencies, caller.accountId, query);
    // A client that accepts neither gets JSON: no documented error fits.
    const wantsCsv = (accepts(...OFFERED) || '').startsWith('text/csv');
    if (!wantsCsv) return await jsonPage(dependencies, key, walk);
    const paged = query.pageSize !== undefined || query.cursor !== undefined;
    return paged
      ? await csvPage(dependencies.core.sql, key, { walk, headers: HEADERS })
      : csvStream(dependencies.core.sql, { walk, headers: HEADERS });
  },
});

const LEDGER_NAMES = { USD: 'usd', DIEM: 'diem', BUNDLED_CREDITS: 'bundled' } as const;

async function walkOf({ core: { sql } }: Dependencies, accountId: string, query: UsageQuery): Promise<UsageCursor> {
  if (query.cursor !== undefined) return decodeUsageCursor(await signingKey(sql), accountId, query.cursor);
  const { startTimestamp, endTimestamp, currency } = query;
  const range: UsageRange = {
    accountId,
    from: startTimestamp === undefined ? null : toMicroseconds(startTimestamp),
    to: endTimestamp === undefined ? null : toMicroseconds(endTimestamp),
    currency: currency === undefined ? null : LEDGER_NAMES[currency],
  };
  const { horizon } = await usageHorizon(sql, accountId);
  return { range, pageSize: query.pageSize ?? MAX_PAGE, horizon, after: null };
}

async function jsonPage({ core: { sql } }: Dependencies, key: Buffer, walk: UsageCursor): Promise<Answer> {
  // One more than the page shows whether there is another.
  const rows = await usagePage(sql, walk.range, { ...walk, limit: walk.pageSize + 1 });
  const page = rows.slice(0, walk.pageSize);
  const last = page.at(-1);
  const more = rows.length > page.length && last !== undefined;
  const nextCursor = more ? encodeUsageCursor(key, { ...walk, after: { at: last.at, id: last.id } }) : null;
  return json({ data: page.map(presentUsage), nextCursor }, { headers: HEADERS });
}

/** Usage entry in the public form (ACCOUNT-11). */
function presentUsage(row: UsageRow) {
  const units = toNumber(row.units);
  return {
    timestamp: row.at,
    sku: row.sku,
    units,
    unit: units,
    pricePerUnitUsd: nanoToNumber(row.priceNano),
    amount: nanoToNumber(row.amountNano),
    currency: CURRENCY_NAMES[row.currency],
    notes: row.notes,
    inferenceDetails:
      row.requestId === null
        ? null
        : {
            requestId: row.requestId,
            promptTokens: row.promptTokens,
            completionTokens: row.completionTokens,
            inferenceExecutionTime: row.executionMs,
          },
  };
}

function toNumber(decimal: string): number {
  const number = Number(decimal);
  return Number.isFinite(number) ? number : 0;
}
