/** Work that had to wait for too long, or with too many others. */
import { FareboxError } from '../domain/errors.ts';

export class TooManyWait extends Error {}

/** For a promise's `catch`: FareboxError `unavailable` in place of TooManyWait; whatever else failed is thrown on. */
export function tooBusy(whatIsDone: string, retryAfterSeconds: number): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof TooManyWait)) throw error;
    throw new FareboxError({
      code: 'unavailable',
      message: `Too many ${whatIsDone} at the moment; try again in ${retryAfterSeconds} seconds`,
      retryAfterSeconds,
      cause: error,
    });
  };
}
