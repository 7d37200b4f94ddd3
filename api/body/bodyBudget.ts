/** How many bytes of request bodies this process holds in memory at once, for all requests together. */
import { getHeapStatistics } from 'node:v8';
import { FareboxError } from '../../domain/errors.ts';
import type { Holding } from '../../infra/media/heldBytes.ts';

/** Bodies up to this size may use the whole budget: large ones of a few callers do not keep out the usual requests. */
const SMALL_BODY_BYTES = 256 * 1024;
const LARGE_BODIES_SHARE = 0.75;
/** Share of the memory for large bodies that one account or address may use. The largest body always fits. */
const OWNER_SHARE = 0.5;
const LARGEST_BODY_BYTES = 35 * 1024 * 1024;
const RETRY_AFTER_SECONDS = 2;
/** A parsed body may take two bytes of the heap for each byte that was sent, and twice that while it is parsed. */
const HEAP_SHARE = 0.25;

export interface BodyBudget {
  /** For one request of this account or address, which must release it on every way out. */
  open(owner: string): Holding;
  readonly heldBytes: number;
}

/** `maxBytes`: a quarter of this process's heap by default. */
export function createBodyBudget(maxBytes = getHeapStatistics().heap_size_limit * HEAP_SHARE): BodyBudget {
  const maxLargeBytes = maxBytes * LARGE_BODIES_SHARE;
  const maxOwnerBytes = Math.max(maxLargeBytes * OWNER_SHARE, LARGEST_BODY_BYTES);
  const byOwner = new Map<string, number>();
  let held = 0;

  function change(owner: string, bytes: number): void {
    held += bytes;
    const ofOwner = (byOwner.get(owner) ?? 0) + bytes;
    if (ofOwner === 0) byOwner.delete(owner);
    else byOwner.set(owner, ofOwner);
  }

  return {
    open(owner) {
      let own = 0;
      return {
        take(bytes) {
          const isSmall = own + bytes <= SMALL_BODY_BYTES;
          const ofOwner = (byOwner.get(owner) ?? 0) + bytes;
          if (held + bytes > (isSmall ? maxBytes : maxLargeBytes)) throw noRoom(held);
          if (!isSmall && ofOwner > maxOwnerBytes) throw noRoom(ofOwner);
          change(owner, bytes);
          own += bytes;
        },
        release() {
          change(owner, -own);
          own = 0;
        },
      };
    },
    get heldBytes() {
      return held;
    },
  };
}

function noRoom(heldBytes: number): FareboxError {
  return new FareboxError({
    code: 'unavailable',
    message: `Too many large requests are being read at the moment; try again in ${RETRY_AFTER_SECONDS} seconds`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    internal: `${heldBytes} bytes of bodies are held`,
  });
}
