/** A paid call of one price: held, done, and charged only when it was delivered. */
import { z } from 'zod';
import type { LedgerPrice, PriceSnapshot } from '../../domain/ledger.ts';
import { nanoToNumber } from '../../domain/money.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Answer, json } from '../http/answer.ts';
import type { RouteRequest } from '../http/route.ts';
import { openHold } from './paid.ts';

export interface FixedPrice {
  sku: string;
  unit: string;
  price: LedgerPrice;
  provider: string;
}

/** What a dry run of a call or job of one price answers. */
export const dryRunCost = z
  .strictObject({
    object: z.literal('dry_run'),
    cost: z.strictObject({ usd: z.number(), diem: z.number() }),
  })
  .meta({ id: 'DryRunCost' });

const TTL_MS = 180_000;

/** The client wants to know the price, and nothing else to happen. */
export function isDryRun({ headers }: Pick<RouteRequest<unknown, unknown, 'key'>, 'headers'>): boolean {
  return headers['x-service-dry-run'] === 'true';
}

export function dryRun(price: LedgerPrice): Answer {
  return json({
    object: 'dry_run',
    cost: { usd: nanoToNumber(price.usd), diem: nanoToNumber(price.diem) },
  });
}

/** The same for `paidDelivery`: for work that a provider is paid for also when the client leaves. */
export function saleOf(
  { sku, unit, price, provider }: FixedPrice,
  requestId: string,
): { price: LedgerPrice; snapshot: PriceSnapshot; ttlMs: number } {
  const snapshot: PriceSnapshot = {
    ...{ sku, modelId: sku, provider, unit, units: '1', requestId },
    pricePerUnitUsd: price.usd.toString(),
    notes: 'API Inference',
  };
  return { price, snapshot, ttlMs: TTL_MS };
}

export async function paidOnce(
  dependencies: Pick<Dependencies, 'ledger' | 'sql'>,
  request: Pick<
    RouteRequest<unknown, unknown, 'key'>,
    'caller' | 'requestId' | 'log' | 'headers' | 'expired' | 'beforeLoss'
  >,
  { offer, work }: { offer: FixedPrice; work: () => Promise<Answer> },
): Promise<Answer> {
  if (isDryRun(request)) {
    return dryRun(offer.price);
  }
  const { caller, requestId } = request;
  const { price, ...sale } = saleOf(offer, requestId);
  const hold = await openHold(dependencies, {
    requestId,
    caller,
    bound: price,
    logOwner: request,
    request,
    ...sale,
  });
  const startedAt = performance.now();
  try {
    const answer = await work();
    await hold.settle(price, { inferenceExecutionTime: Math.round(performance.now() - startedAt) });
    return answer;
  } catch (error) {
    // After a bill that stands this changes nothing.
    await hold.release();
    throw error;
  }
}
