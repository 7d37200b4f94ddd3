/** How many bytes that were fetched for requests this process keeps in memory at once, those of all requests together. */
import { TooManyWait } from './childPool.ts';
import { tooBusy } from './tooBusy.ts';

export interface HeldBytes {
  /** For one request, which must release it on every way out. */
  open(): Holding;
}

export interface Holding {
  /** To be called before they are read. Throws FareboxError `unavailable` where there is no room for so many more. */
  take(bytes: number): void;
  /** A second time nothing happens; what is asked for after it is refused. */
  release(): void;
}

const busy = tooBusy('media are being passed on', 5);

export function createHeldBytes(mostBytes: number): HeldBytes {
  let held = 0;
  return {
    open() {
      let own = 0;
      let released = false;
      return {
        take(bytes) {
          // A fetch may end after the request that it was for: what it brought would never be released.
          if (released) busy(new TooManyWait('the request is over'));
          if (held + bytes > mostBytes) busy(new TooManyWait(`${held} of ${mostBytes} bytes are held`));
          held += bytes;
          own += bytes;
        },
        release() {
          released = true;
          held -= own;
          own = 0;
        },
      };
    },
  };
}
