/**
 * Paid request (MONEY-1 to MONEY-3): hold the most that it can cost, do the work, settle what it did cost, and release on
 * every other way out. Each paid route calls `purchase`, or `purchaseAnswer` where the price is known before the work.
 * Settlement policies, from the earliest to the latest:
 * - `before the answer`: when the work is done. Whole texts, embeddings, decisions and RPC calls settle so in their work.
 * - `at its first byte`: when the client begins to get the answer; JSON when it is made, unless its client has left. A client
 *   that gets an error pays nothing, and one that leaves later pays. One that leaves before it pays nothing either, as long
 *   as what providers were paid for that stays within the refunds of the account's day.
 * - `at its end`: for an answer that is made while it is sent. A client that leaves in between pays. A client whose source
 *   breaks, or whom a stopping process cuts off, does not.
 * - `settleAfterStream`: before the last event of a stream of text, by what was produced.
 */
import { FareboxError } from '../../domain/errors.ts';
import type { LedgerPrice, PriceSnapshot } from '../../domain/ledger.ts';
import { refundedPerDayOf } from '../../domain/limits/refundedPerDay.ts';
import type { Nano } from '../../domain/money.ts';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import { failpoint } from '../../infra/failpoints.ts';
import { inTransaction } from '../../infra/postgres/pool.ts';
import { takeRefundBudget } from '../../infra/postgres/refundBudget.ts';
import { refundBudgetFailures } from '../../infra/telemetry/counters.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Answer, EventAnswer, StreamBreaker } from '../http/answer.ts';
import type { RouteRequest } from '../http/route.ts';
import { toClientError } from '../http/upstreamErrors.ts';
import { dryRun, isDryRun } from './dryRun.ts';
import { type Buyer, type HoldTerms, type LedgerClient, type LedgerHold, openHold } from './ledgerHold.ts';

export interface PurchaseTerms<T> extends HoldTerms {
  /** Settles the hold, or hands it on to the answer. A hold that is left open is released. */
  work(hold: LedgerHold): Promise<T>;
}

/** Throws FareboxError `insufficient_balance` or `key_limit_exceeded` before the work, and what the work throws. */
export async function purchase<T>(client: LedgerClient, request: Buyer, terms: PurchaseTerms<T>): Promise<T> {
  const hold = await openHold(client, request, terms);
  try {
    const made = await terms.work(hold);
    if (hold.isOpen && !hold.isHandedOn) await hold.release();
    return made;
  } catch (error) {
    // A release after a bill changes nothing.
    await hold.release();
    throw error;
  }
}

/** Policy of a text stream: `tell` settles before its last event. If it fails before that, the hold is released. */
export function settleAfterStream(hold: LedgerHold, tell: EventAnswer['tell']): EventAnswer['tell'] {
  hold.isHandedOn = true;
  return async (take) => {
    try {
      await tell(take);
    } catch (error) {
      await hold.release();
      throw error;
    }
  };
}

export interface Purchase {
  price: LedgerPrice;
  snapshot: PriceSnapshot;
  /** Longer than the work and the transfer of its answer may take. */
  ttlMs: number;
}

export interface AnswerTerms {
  purchase: Purchase;
  settles: 'before the answer' | 'at its first byte' | 'at its end';
  /** `noteMade`: called when the provider has done its part, and is paid whatever fails after that. */
  work(noteMade: () => void): Promise<Answer>;
}

type SaleDependencies = LedgerClient & Pick<Dependencies, 'core'>;
type AnswerBuyer = Buyer & Pick<RouteRequest<unknown, unknown, 'key'>, 'requestId' | 'headers' | 'signal' | 'hasLeft'>;

/** Throws what the work throws, an UpstreamFailure as an error for clients. Nothing is charged then. */
export async function purchaseAnswer(
  dependencies: SaleDependencies,
  request: AnswerBuyer,
  { purchase: { price, snapshot, ttlMs }, settles, work }: AnswerTerms,
): Promise<Answer> {
  if (isDryRun(request)) return dryRun(price);
  // Read before the work: without its signal a request does not notice that its client has left.
  const { requestId: operationId, signal } = request;
  return await purchase(dependencies, request, {
    operationId,
    bound: price,
    snapshot,
    ttlMs,
    async work(hold) {
      const startedAt = performance.now();
      let isMade = false;
      const undo = () => endUndelivered(dependencies, request, { hold, price, snapshot, isMade });
      try {
        await failpoint('sale-held');
        const answer = await work(() => {
          isMade = true;
        });
        const inferenceExecutionTime = Math.round(performance.now() - startedAt);
        const charge = () => chargeSale(hold, price, { inferenceExecutionTime });
        return await settleAnswer(answer, request, { settles, hold, charge, undo });
      } catch (error) {
        if (isMade || mayBeMade(error, signal)) await undo();
        throw toClientError(error);
      }
    },
  });
}

async function chargeSale(hold: LedgerHold, price: LedgerPrice, details: Partial<PriceSnapshot>): Promise<void> {
  await failpoint('sale-made');
  await hold.settle(price, details);
  await failpoint('sale-settled');
}

interface PaidDelivery extends Pick<AnswerTerms, 'settles'> {
  hold: LedgerHold;
  charge(): Promise<void>;
  /** Called for an answer whose delivery has not begun. */
  undo(): Promise<void>;
}

async function settleAnswer(
  answer: Answer,
  request: AnswerBuyer,
  { settles, hold, charge, undo }: PaidDelivery,
): Promise<Answer> {
  if (settles === 'before the answer' || (answer.kind !== 'stream' && answer.kind !== 'binary')) {
    if (settles !== 'before the answer') request.signal.throwIfAborted();
    await charge();
    return answer;
  }
  const isChargedAtEnd = settles === 'at its end' && answer.kind === 'stream';
  let hasBegun = false;
  hold.isHandedOn = true;
  return {
    ...answer,
    onBegun: async () => {
      hasBegun = true;
      if (!isChargedAtEnd) await charge();
    },
    ...(isChargedAtEnd && { onWhole: charge }),
    onAborted: async (by: StreamBreaker = 'client') => {
      const isServed = isChargedAtEnd && by === 'client' && request.hasLeft;
      // A release after the bill changes nothing.
      if (hasBegun) await (isServed ? charge() : hold.release());
      else await undo();
      await answer.onAborted?.(by);
    },
  };
}

/** A service that reports an error has made nothing; an abandoned call may have been paid for. */
function mayBeMade(error: unknown, signal: AbortSignal): boolean {
  const failure = error instanceof FareboxError ? error.cause : error;
  if (failure instanceof UpstreamFailure) return failure.reason === 'lost' || failure.reason === 'timeout';
  return error === signal.reason;
}

/**
 * Ends the hold of an undelivered answer that the provider is paid for. The price counts against the refund budget of the
 * account's day. Beyond the budget, a client that left is charged, and a failure of this service is not.
 */
async function endUndelivered(
  dependencies: SaleDependencies,
  request: AnswerBuyer,
  { hold, price, snapshot, isMade }: { hold: LedgerHold; isMade: boolean } & Omit<Purchase, 'ttlMs'>,
): Promise<void> {
  const kind = dependencies.core.config.providers[snapshot.provider]?.kind;
  const isPaidFor = kind !== 'local' && price.usd > 0n;
  const isOurFailure = isMade && !request.signal.aborted;
  if (!isPaidFor || !(request.hasLeft || isOurFailure)) return await hold.release();
  await releaseWithinBudget(dependencies, request, {
    usd: price.usd,
    hold,
    bill: () => (request.hasLeft ? chargeSale(hold, price, {}) : hold.release()),
  });
}

interface AbandonedWork {
  /** List price in nano USD. */
  usd: Nano;
  hold: Pick<LedgerHold, 'release'>;
  bill(): Promise<unknown>;
}

/**
 * Refunds provider work for a client that left, within the budget of the account's day; beyond it the work is billed. Where
 * the budget cannot be read nothing is billed: that is logged and counted.
 */
export async function releaseWithinBudget(
  { core: { sql, config } }: Pick<Dependencies, 'core'>,
  { caller, log }: Pick<Buyer, 'caller' | 'log'>,
  { usd, hold, bill }: AbandonedWork,
): Promise<void> {
  const { accountId } = caller;
  const perDay = refundedPerDayOf(config.limits, accountId);
  const take = inTransaction(sql, (client) => takeRefundBudget(client, { accountId, usd }, perDay));
  const isWithin = await take.then(
    (counted) => counted !== undefined,
    (err: unknown) => {
      refundBudgetFailures.inc();
      log.warn({ err }, 'the refunds of the day could not be read: nothing is billed');
      return true;
    },
  );
  await (isWithin ? hold.release() : bill());
}
