/** Takes what belongs to an order: sealed with it, handed in (and perhaps behind it by a moment), or named by a URL. */
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { FareboxError } from '../domain/errors.ts';
import { type SealedOrder, unsealOrder } from '../domain/generation/sealedOrder.ts';
import { sealedOrderKey } from '../infra/s3/objectKeys.ts';
import type { ActivityDependencies } from './dependencies.ts';

const FETCH_LIMIT_MS = 30_000;

export async function unseal({ storage }: ActivityDependencies, queueId: string): Promise<SealedOrder> {
  const body = await waitUntilStored(() => storage.get(sealedOrderKey(queueId)));
  return unsealOrder(await text(body));
}

/** Fetches from the client's URL and then stores, so that every later step sees the same bytes. */
export async function fetchIntoStorage(
  { guardedFetch, storage }: Pick<ActivityDependencies, 'guardedFetch' | 'storage'>,
  url: string,
  { key, ...target }: { key: string; path: string; maxBytes: number; signal: AbortSignal },
): Promise<{ sizeBytes: number; sha256: string }> {
  const { sizeBytes, sha256 } = await guardedFetch.download(url, { ...target, timeoutMs: FETCH_LIMIT_MS });
  const about = { sizeBytes, sha256, contentType: 'application/octet-stream' };
  await storage.putFile(key, target.path, about);
  return { sizeBytes, sha256 };
}

/** Waits for objects that are stored beside their order; when they are later than that, the step is retried. */
export async function waitUntilStored<T>(look: () => Promise<T>): Promise<NonNullable<T>> {
  for (let pauseMs = 5; pauseMs < 500; pauseMs *= 2) {
    const found = await look();
    if (found) return found;
    await sleep(pauseMs);
  }
  throw new FareboxError({ code: 'unavailable', message: 'The source is not in storage.' });
}
