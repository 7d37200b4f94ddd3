/**
 * A paid call that answers a file or a text at once: its price is held, the work done, and the price taken when the client
 * begins to get the answer. Whoever has gone away by then, or gets an error instead, pays nothing; whoever leaves later
 * has been served. What is still being made while it is sent is paid at its end: if it breaks off, it costs nothing.
 */
import type { LedgerPrice, PriceSnapshot } from '../domain/ledger.ts';
import { point } from '../infra/points.ts';
import type { Answer, BinaryAnswer, StreamAnswer, StreamBreaker } from './answer.ts';
import type { Dependencies } from './dependencies.ts';
import { dryRun, isDryRun } from './fixedPrice.ts';
import { type Hold, openHold } from './paid.ts';
import type { RouteRequest } from './route.ts';
import { toClientError } from './upstreamErrors.ts';

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
  'caller' | 'requestId' | 'log' | 'headers' | 'signal'
>;

/** Throws what the work throws; an UpstreamFailure in our words. Nothing is charged then. */
export async function paidDelivery(
  dependencies: Pick<Dependencies, 'ledger'>,
  request: Asking,
  { sale, work }: { sale: Sale; work: () => Promise<Done> },
): Promise<Answer> {
  const { price, snapshot, ttlMs } = sale;
  if (isDryRun(request)) return dryRun(price);
  const { caller, requestId, log, signal } = request;
  const hold = await openHold(dependencies, { requestId, caller, bound: price, snapshot, ttlMs, log });
  const startedAt = performance.now();
  try {
    await point('sale-held');
    const done = await work();
    const bill = {
      price: done.price ?? price,
      details: { ...done.snapshot, inferenceExecutionTime: Math.round(performance.now() - startedAt) },
    };
    const { answer } = done;
    if (answer.kind === 'stream' && done.isUnfinished) {
      return { ...answer, ...chargingAtEnd(hold, answer, bill) };
    }
    if (answer.kind === 'binary' || answer.kind === 'stream') {
      return { ...answer, ...charging(hold, answer, bill) };
    }
    signal.throwIfAborted();
    await charge(hold, bill);
    return answer;
  } catch (error) {
    // After a bill that stands this changes nothing.
    await hold.release();
    throw toClientError(error);
  }
}

interface Bill {
  price: LedgerPrice;
  details: Partial<PriceSnapshot>;
}

type Ending = Pick<StreamAnswer | BinaryAnswer, 'onAborted'>;

/** A release after the bill changes nothing. */
function charging(hold: Hold, { onAborted }: Ending, bill: Bill) {
  return {
    onBegun: () => charge(hold, bill),
    onAborted: async (by: StreamBreaker = 'client') => {
      await hold.release();
      await onAborted?.(by);
    },
  };
}

/** Whoever leaves within it has been served; whoever is left within it has not. */
function chargingAtEnd(hold: Hold, { onAborted }: Ending, bill: Bill) {
  let hasBegun = false;
  return {
    onBegun: async () => {
      hasBegun = true;
    },
    onWhole: () => charge(hold, bill),
    onAborted: async (by: StreamBreaker) => {
      await (hasBegun && by === 'client' ? charge(hold, bill) : hold.release());
      await onAborted?.(by);
    },
  };
}

async function charge(hold: Hold, { price, details }: Bill): Promise<void> {
  await point('sale-made');
  await hold.settle(price, details);
  await point('sale-settled');
}
