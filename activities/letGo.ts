/** A step that was cancelled and does not end must not keep its slot: a few of them would stop the whole queue. */
import { setTimeout as sleep } from 'node:timers/promises';
import { FareboxError } from '../domain/errors.ts';

/** How long a cancelled step has for tidying up. */
const GRACE_MS = 10_000;

/**
 * Runs a step, and waits for it no longer than its cancellation plus a grace. The server has given such an attempt up long
 * before (a cancellation comes at its timeout at the latest), so what it may still answer is nobody's. Throws FareboxError
 * `timed_out` then.
 */
export async function letGoWhenCancelled<T>(
  step: () => Promise<T>,
  signal: AbortSignal,
  graceMs = GRACE_MS,
): Promise<T> {
  const over = new AbortController();
  const working = step();
  working.catch(() => undefined);
  const late = cancelled(signal, over.signal).then(async () => {
    await sleep(graceMs, undefined, { signal: over.signal });
    throw new FareboxError({ code: 'timed_out', message: 'The step did not end when it was cancelled.' });
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([working, late]);
  } finally {
    over.abort();
  }
}

function cancelled(signal: AbortSignal, over: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true, signal: over });
  });
}
