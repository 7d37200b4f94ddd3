/** Budget of bytes in memory for requests, for the whole process and for each account. */
import { FareboxError } from '../domain/errors.ts';
import { MEDIA_BYTES_IN_MEMORY } from '../domain/limits/limits.ts';
import { TooManyWait, tooBusy } from './tooBusy.ts';

export interface ByteBudget {
  /** Opens the share of one request of this account or address, which must release it on every way out. */
  open(owner: string): ReservedBytes;
  readonly reservedBytes: number;
}

export interface ReservedBytes {
  /** Called before the bytes are read. Throws FareboxError when there is no room for them. */
  take(bytes: number): void;
  /** Idempotent; later requests are refused. */
  release(): void;
}

/** Bytes that would be held with the requested ones. */
export interface WantedBytes {
  ofRequest: number;
  ofOwner: number;
  ofAll: number;
}

/** `check` throws when it is too much. */
export function createByteBudget(check: (wanted: WantedBytes) => void): ByteBudget {
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
      let isReleased = false;
      return {
        take(bytes) {
          // A fetch may end after its request; its bytes would never be released.
          if (isReleased) throw new FareboxError({ code: 'unavailable', message: 'The request is over.' });
          check({
            ofRequest: own + bytes,
            ofOwner: (byOwner.get(owner) ?? 0) + bytes,
            ofAll: held + bytes,
          });
          change(owner, bytes);
          own += bytes;
        },
        release() {
          isReleased = true;
          if (own > 0) change(owner, -own);
          own = 0;
        },
      };
    },
    get reservedBytes() {
      return held;
    },
  };
}

const RETRY_AFTER_SECONDS = 5;
const busy = tooBusy('media are being passed on', RETRY_AFTER_SECONDS);

export interface MediaBudgetOptions {
  /** Two requests of the largest size, and more ordinary ones. */
  maxBytes?: number;
  maxAccountBytes?: number;
}

/** Budget for fetched media and texts of documents. One account may use half of it. */
export function createMediaBudget({
  maxBytes = 2 * MEDIA_BYTES_IN_MEMORY,
  maxAccountBytes = MEDIA_BYTES_IN_MEMORY,
}: MediaBudgetOptions = {}): ByteBudget {
  return createByteBudget(({ ofOwner, ofAll }) => {
    if (ofOwner > maxAccountBytes) {
      throw new FareboxError({
        ...{ code: 'rate_limited', limitType: 'FETCHED_BYTES', retryAfterSeconds: RETRY_AFTER_SECONDS },
        message: `Rate limit exceeded: at most ${maxAccountBytes} bytes of fetched media in memory at a time for this account.`,
      });
    }
    if (ofAll > maxBytes) busy(new TooManyWait(`${ofAll} of ${maxBytes} bytes would be held`));
  });
}
