import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/activity';

export function isToldToWait(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.category === 'BENIGN' && error.nonRetryable !== true;
}

/** Retries an activity as long as it requests that, like Temporal. */
export async function retryWaiting<T>(step: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (!isToldToWait(error)) throw error;
      await sleep(50);
    }
  }
}
