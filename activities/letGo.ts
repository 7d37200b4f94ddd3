/** A step that was cancelled and does not end must not keep its slot: a few of them would stop the whole queue. */
import { FareboxError } from '../domain/errors.ts';

/** How long a cancelled step has for tidying up. */
const GRACE_MS = 10_000;

/**
 * Runs a step, and waits for it no longer than its cancellation plus a grace. The server has given such an attempt up long
 * before (a cancellation comes at its timeout at the latest), so what it may still answer is nobody's. Throws FareboxError
 * `timed_out` then.
 */
export function letGoWhenCancelled<T>(
  step: () => Promise<T>,
  signal: AbortSignal,
  graceMs = GRACE_MS,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let expiry: NodeJS.Timeout | undefined;
    const cancelled = () => {
      expiry = setTimeout(() => reject(new FareboxError(STUCK)), graceMs);
    };
    const over = () => {
      clearTimeout(expiry);
      signal.removeEventListener('abort', cancelled);
    };
    if (signal.aborted) cancelled();
    else signal.addEventListener('abort', cancelled, { once: true });
    step().then(resolve, reject).finally(over);
  });
}

const STUCK = { code: 'timed_out', message: 'The step did not end when it was cancelled.' } as const;
