import { ApplicationFailure } from '@temporalio/activity';

/** Asks for another attempt of this very step, by its own growing pauses unless told: waiting adds nothing to the history. */
export function waiting(why: { type: string; message: string }, retryAfterMs?: number): ApplicationFailure {
  return ApplicationFailure.create({
    ...why,
    // Waiting is no failure: it is neither logged nor counted as one.
    category: 'BENIGN',
    ...(retryAfterMs === undefined ? {} : { nextRetryDelay: retryAfterMs }),
  });
}
