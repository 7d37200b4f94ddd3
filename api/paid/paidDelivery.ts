/**
 * A paid call that answers a file or a text at once: its price is held, the work done, and the price taken when the client
 * begins to get the answer. Whoever gets an error instead pays nothing; whoever leaves later has been served. Whoever leaves
 * before it pays nothing either, as long as what providers were paid for that stays within the refunds of the account's day.
 * An answer that is still being made while it is sent is paid at its end: if it breaks off, it costs nothing. One cut because the
 * process ends costs and counts nothing.
 */
import { FareboxError } from '../../domain/errors.ts';
import type { LedgerPrice, PriceSnapshot } from '../../domain/ledger.ts';
import { UpstreamFailure } from '../../domain/text/upstreamFailure.ts';
import { point } from '../../infra/points.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Answer, BinaryAnswer, StreamAnswer, StreamBreaker } from '../http/answer.ts';
import type { RouteRequest } from '../http/route.ts';
import { toClientError } from '../http/upstreamErrors.ts';
import { dryRun, isDryRun } from './fixedPrice.ts';
import { type Hold, openHold } from './paid.ts';
import { releaseWithinBudget } from './refundBudget.ts';

export interface Sale {
  price: LedgerPrice;
  snapshot: PriceSnapshot;
  /** Longer than the work may take, and the sending of what is made meanwhile. */
  ttlMs: number;
}

/** What the work costs less than was held, and what the entry says of it. */
export interface Done {
  answer: Answer;
  /** It is a stream, and the rest of it is made while it is sent. */
  isUnfinished?: boolean;
  price?: LedgerPrice;
  snapshot?: Partial<PriceSnapshot>;
}

type Asking = Pick<
  RouteRequest<unknown, unknown, 'key'>,
  'caller' | 'requestId' | 'log' | 'headers' | 'signal' | 'hasLeft' | 'expired' | 'beforeLoss'
>;

/**
 * Throws what the work throws; an UpstreamFailure in our words. Nothing is charged then. `noteMade`: the provider has done its
 * part, and is paid for it whatever fails after that.
 */
export async function paidDelivery(
  dependencies: Selling,
  request: Asking,
  { sale, work }: { sale: Sale; work: (noteMade: () => void) => Promise<Done> },
): Promise<Answer> {
  const { price, snapshot, ttlMs } = sale;
  if (isDryRun(request)) return dryRun(price);
  const { caller, requestId, signal } = request;
  const hold = await openHold(dependencies, {
    ...{ requestId, caller, bound: price, snapshot, ttlMs, logOwner: request, request },
  });
  const startedAt = performance.now();
  let isMade = false;
  const noteMade = () => {
    isMade = true;
  };
  const undo = () => giveBack(dependencies, request, { hold, sale, isMade });
  try {
    await point('sale-held');
    const done = await work(noteMade);
    const bill = {
      price: done.price ?? price,
      details: { ...done.snapshot, inferenceExecutionTime: Math.round(performance.now() - startedAt) },
    };
    const { answer } = done;
    if (answer.kind === 'stream' && done.isUnfinished) {
      return { ...answer, ...chargingAtEnd({ hold, undo, request }, answer, bill) };
    }
    if (answer.kind === 'binary' || answer.kind === 'stream') {
      return { ...answer, ...charging({ hold, undo }, answer, bill) };
    }
    signal.throwIfAborted();
    await charge(hold, bill);
    return answer;
  } catch (error) {
    // After a bill that stands this changes nothing.
    await (isMade || mayBeMade(error, signal) ? undo() : hold.release());
    throw toClientError(error);
  }
}

type Selling = Pick<Dependencies, 'ledger' | 'sql' | 'config'>;

/** A service that says what is wrong has made nothing; a call that was given up may have been paid for. */
function mayBeMade(error: unknown, signal: AbortSignal): boolean {
  const failure = error instanceof FareboxError ? error.cause : error;
  if (failure instanceof UpstreamFailure) return failure.reason === 'lost' || failure.reason === 'timeout';
  return error === signal.reason;
}

/**
 * Releases the hold of what nobody gets. Where the client has left its provider is paid all the same: that counts into the
 * refunds of the account's day, and beyond them it is charged. What we lost counts, too, and is never charged.
 */
async function giveBack(
  { sql, config }: Selling,
  request: Asking,
  { hold, sale, isMade }: { hold: Hold; sale: Sale; isMade: boolean },
): Promise<void> {
  const { price, snapshot } = sale;
  const isPaidFor = config.providers[snapshot.provider]?.kind !== 'local' && price.usd > 0n;
  const isLostHere = isMade && !request.signal.aborted;
  if (!isPaidFor || !(request.hasLeft || isLostHere)) return await hold.release();
  await releaseWithinBudget({ sql, config }, request, {
    usd: price.usd,
    release: () => hold.release(),
    bill: () => (request.hasLeft ? charge(hold, { price, details: {} }) : hold.release()),
  });
}

interface Bill {
  price: LedgerPrice;
  details: Partial<PriceSnapshot>;
}

type Ending = Pick<StreamAnswer | BinaryAnswer, 'onAborted'>;

interface Held {
  hold: Hold;
  /** To be called for what has not begun to be delivered. */
  undo(): Promise<void>;
}

function charging({ hold, undo }: Held, { onAborted }: Ending, bill: Bill) {
  let hasBegun = false;
  return {
    onBegun: () => {
      hasBegun = true;
      return charge(hold, bill);
    },
    onAborted: async (by: StreamBreaker = 'client') => {
      // A release after the bill changes nothing.
      await (hasBegun ? hold.release() : undo());
      await onAborted?.(by);
    },
  };
}

/** A client that leaves mid-stream pays. A client whose source breaks, or whom a stopping process cuts off, does not. */
function chargingAtEnd(
  { hold, undo, request }: Held & { request: Pick<Asking, 'hasLeft'> },
  { onAborted }: Ending,
  bill: Bill,
) {
  let hasBegun = false;
  return {
    onBegun: async () => {
      hasBegun = true;
    },
    onWhole: () => charge(hold, bill),
    onAborted: async (by: StreamBreaker) => {
      const isServed = by === 'client' && request.hasLeft;
      if (hasBegun) await (isServed ? charge(hold, bill) : hold.release());
      else await undo();
      await onAborted?.(by);
    },
  };
}

async function charge(hold: Hold, { price, details }: Bill): Promise<void> {
  await point('sale-made');
  await hold.settle(price, details);
  await point('sale-settled');
}
