import { setTimeout as sleep } from 'node:timers/promises';
import { givenUp } from './mediaFailures.ts';

/** Throws UpstreamFailure when the signal is aborted meanwhile. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {
    throw givenUp(signal);
  });
}
