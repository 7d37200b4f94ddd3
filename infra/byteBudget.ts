/** How many bytes this process keeps in memory at once for requests, for all of them together and for each account. */
import { FareboxError } from '../domain/errors.ts';
import { MEDIA_BYTES_IN_MEMORY } from '../domain/limits/limits.ts';
import { TooManyWait, tooBusy } from './tooBusy.ts';

export interface HeldBytes {
  /** For one request of this account or address, which must release it on every way out. */
  open(owner: string): Holding;
  readonly heldBytes: number;
}

export interface Holding {
  /** To be called before they are read. Throws FareboxError where there is no room for so many more. */
  take(bytes: number): void;
  /** A second time nothing happens; what is asked for after it is refused. */
  release(): void;
}

/** Bytes that would be held with those that are asked for. */
export interface WantedBytes {
  ofRequest: number;
  ofOwner: number;
  ofAll: number;
}

/** `check` throws where it is too much. */
export function createByteBudget(check: (wanted: WantedBytes) => void): HeldBytes {
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
          // A fetch may end after the request that it was for: what it brought would never be released.
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
    get heldBytes() {
      return held;
    },
  };
}

const RETRY_AFTER_SECONDS = 5;
const busy = tooBusy('media are being passed on', RETRY_AFTER_SECONDS);

export interface MediaBudget {
  /** Two requests with as much as one may have, and more of the usual ones. */
  maxBytes?: number;
  maxAccountBytes?: number;
}

/** For media that were fetched for requests, and the texts of documents. One account may fill half of it. */
export function createMediaBudget({
  maxBytes = 2 * MEDIA_BYTES_IN_MEMORY,
  maxAccountBytes = MEDIA_BYTES_IN_MEMORY,
}: MediaBudget = {}): HeldBytes {
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
