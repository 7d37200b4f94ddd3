/** How many bytes of request bodies this process holds in memory at once, for all requests together. */
import { getHeapStatistics } from 'node:v8';
import { FareboxError } from '../../domain/errors.ts';
import { createByteBudget, type HeldBytes } from '../../infra/byteBudget.ts';

/** Bodies up to this size may use the whole budget: large ones of a few callers do not keep out the usual requests. */
const SMALL_BODY_BYTES = 256 * 1024;
const LARGE_BODIES_SHARE = 0.75;
/** Share of the memory for large bodies that one account or address may use. The largest body always fits. */
const OWNER_SHARE = 0.5;
const LARGEST_BODY_BYTES = 35 * 1024 * 1024;
const RETRY_AFTER_SECONDS = 2;
/** A parsed body may take two bytes of the heap for each byte that was sent, and twice that while it is parsed. */
const HEAP_SHARE = 0.25;

/** `maxBytes`: a quarter of this process's heap by default. */
export function createBodyBudget(maxBytes = getHeapStatistics().heap_size_limit * HEAP_SHARE): HeldBytes {
  const maxLargeBytes = maxBytes * LARGE_BODIES_SHARE;
  const maxOwnerBytes = Math.max(maxLargeBytes * OWNER_SHARE, LARGEST_BODY_BYTES);
  return createByteBudget(({ ofRequest, ofOwner, ofAll }) => {
    const isSmall = ofRequest <= SMALL_BODY_BYTES;
    if (ofAll > (isSmall ? maxBytes : maxLargeBytes)) throw noRoom(ofAll);
    if (!isSmall && ofOwner > maxOwnerBytes) throw noRoom(ofOwner);
  });
}

function noRoom(wantedBytes: number): FareboxError {
  return new FareboxError({
    code: 'unavailable',
    message: `Too many large requests are being read at the moment; try again in ${RETRY_AFTER_SECONDS} seconds`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    internal: `${wantedBytes} bytes of bodies would be held`,
  });
}
