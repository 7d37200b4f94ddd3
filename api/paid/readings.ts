/**
 * Documents are parsed and media decoded before the price of a request is known. An account pays for that with a small hold
 * meanwhile, and has a budget of readings that earn nothing.
 */
import { type ErrorCode, FareboxError } from '../../domain/errors.ts';
import type { LedgerPrice } from '../../domain/ledger.ts';
import { MINUTE_MS } from '../../domain/limits/limits.ts';
import type { DocumentRefusal } from '../../engines/documents/document.ts';
import type { Counter } from '../../infra/redis/limiter.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RouteRequest } from '../http/route.ts';
import type { LimitSettings } from '../limits/callLimits.ts';
import { isDryRun } from './dryRun.ts';
import type { Buyer, LedgerClient } from './ledgerHold.ts';
import { purchase } from './purchase.ts';

type Budget = Pick<Dependencies, 'limits'>;

/** Price of one document of the text parser. */
const READING_HOLD: LedgerPrice = { usd: 10_000_000n, diem: 10_000_000n };
/** Longer than a request can take, with time to write the release. */
const HOLD_TTL_MS = 200_000;

/** Throws FareboxError `insufficient_balance` or `key_limit_exceeded` before any work. The hold is released in any case. */
export async function holdForReading<T>(
  client: LedgerClient,
  request: Buyer & { requestId: string },
  work: () => Promise<T>,
): Promise<T> {
  const { requestId } = request;
  return await purchase(client, request, {
    ...{ operationId: `${requestId}:reading`, bound: READING_HOLD, ttlMs: HOLD_TTL_MS, work },
    snapshot: {
      ...{ sku: 'reading', modelId: 'reading', provider: 'local', unit: 'request', units: '1', requestId },
      pricePerUnitUsd: READING_HOLD.usd.toString(),
    },
  });
}

const BUDGET_MS = 10 * MINUTE_MS;
const UNPAID_READINGS = 30;
/** A reading that hits its limit on time or memory used all of it: five are the budget. */
const ENDED_READING_COST = 6;
const ENDED_READING: DocumentRefusal = 'too_complex';
const UNREADABLE = new Set<ErrorCode>(['invalid_document', 'invalid_media', 'media_too_long']);
const UNPAID = new Set<ErrorCode>(['insufficient_balance', 'key_limit_exceeded']);

/** Text for the descriptions of routes that read documents or media. */
export const READING_BUDGET =
  'An account of which 30 readings within ten minutes fail, or lead to no answer, gets 429 for the next ones; a reading ' +
  'that takes too long counts as six.';

/** Throws FareboxError `rate_limited` when too many readings of the account have failed, and whatever `read` throws. */
export async function readWithinBudget<T>(budget: Budget, accountId: string, read: () => Promise<T>): Promise<T> {
  await refuseSpentBudget(budget, accountId);
  try {
    return await read();
  } catch (error) {
    if (error instanceof FareboxError && UNREADABLE.has(error.code)) {
      const wasEnded = error.internal?.startsWith(ENDED_READING) === true;
      await countUnpaidReading(budget, accountId, wasEnded ? ENDED_READING_COST : 1);
    }
    throw error;
  }
}

/** Sells the reading, and counts it when nothing pays for it: after a dry run, and when funds are missing. */
export async function sellReading<T>(
  budget: Budget,
  { caller, headers }: Pick<RouteRequest<unknown, unknown, 'buyer'>, 'caller' | 'headers'>,
  sell: () => Promise<T>,
): Promise<T> {
  try {
    const sold = await sell();
    if (isDryRun({ headers })) await countUnpaidReading(budget, caller.accountId);
    return sold;
  } catch (error) {
    if (error instanceof FareboxError && UNPAID.has(error.code)) {
      await countUnpaidReading(budget, caller.accountId);
    }
    throw error;
  }
}

async function refuseSpentBudget({ limits: { calls: limits } }: Budget, accountId: string): Promise<void> {
  const counter = unpaidReadings(limits, accountId);
  const { refusedBy, states, at } = await limits.limiter.admit({ accountId, counters: [counter] });
  if (!refusedBy) return;
  const resetsAt = states[0]?.resetsAt ?? at;
  throw new FareboxError({
    code: 'rate_limited',
    message: 'Too many documents and media of this account could not be read; try again later.',
    retryAfterSeconds: Math.max(1, Math.ceil((resetsAt - at) / 1_000)),
  });
}

/** `cost`: the part of the budget that is used. */
export async function countUnpaidReading(budget: Budget, accountId: string, cost = 1): Promise<void> {
  const limits = budget.limits.calls;
  await limits.limiter.correct(accountId, unpaidReadings(limits, accountId), { count: cost });
}

function unpaidReadings(limits: LimitSettings, accountId: string): Counter {
  const limit = limits.overrideOf(accountId).failedPer30s ?? UNPAID_READINGS;
  return { type: 'FAILED_REQUESTS', subject: 'readings', limit, cost: 0, windowMs: BUDGET_MS };
}
