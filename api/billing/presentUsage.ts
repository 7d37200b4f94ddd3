/** Usage entry as the owner sees it (ACCOUNT-11). */

import { CURRENCY_NAMES } from '../../domain/currencyNames.ts';
import { nanoToNumber } from '../../domain/money.ts';
import type { UsageRow } from '../../infra/postgres/usageHistory.ts';

/**
 * `amount` is what was billed in `currency`, above zero. A refund is an entry of its own below zero, so that the sum
 * over any set of entries is what was really paid. A charge on several currencies has one entry in each, and all of
 * them name the units and the price of the whole. `unit` is the older name of `units`.
 */
export function presentUsage(row: UsageRow) {
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
