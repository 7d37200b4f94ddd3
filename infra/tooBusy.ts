/** Errors of work that waited too long, or with too many others. */
import { FareboxError } from '../domain/errors.ts';

export class TooManyWait extends Error {}

/** For a promise's `catch`: replaces TooManyWait by FareboxError `unavailable`; rethrows other errors. */
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
