/** Reads what came with an order and may be behind it by a moment. */
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { FareboxError } from '../domain/errors.ts';
import { type SealedOrder, unsealOrder } from '../domain/generation/sealedOrder.ts';
import { sealedOrderKey } from '../infra/s3/objectKeys.ts';
import type { ActivityDependencies } from './dependencies.ts';

export async function unseal({ storage }: ActivityDependencies, queueId: string): Promise<SealedOrder> {
  const body = await waitUntilStored(() => storage.get(sealedOrderKey(queueId)));
  return unsealOrder(await text(body));
}

/** What comes together with its order is waited for; the step is tried again when it is later than that. */
export async function waitUntilStored<T>(look: () => Promise<T>): Promise<NonNullable<T>> {
  for (let pauseMs = 5; pauseMs < 500; pauseMs *= 2) {
    const found = await look();
    if (found) return found;
    await sleep(pauseMs);
  }
  throw new FareboxError({ code: 'unavailable', message: 'The source is not in storage.' });
}
