/** A job with defaults for everything that a test does not set. */
import type { NewJob } from '../../../infra/postgres/jobs.ts';
import { timeOrderedId } from '../../../infra/timeOrderedId.ts';
import { SNAPSHOT } from './ledgerWorld.ts';

export function newJob(accountId: string): NewJob {
  const queueId = timeOrderedId();
  return {
    ...{ queueId, accountId, keyId: null, kind: 'music', modelId: SNAPSHOT.modelId, provider: 'simulator' },
    ...{ requestId: 'r', durationSeconds: 1, priceUsdNano: 1n, chargeId: queueId, deadlineMs: 60_000 },
    acceptBy: Date.now() + 3_600_000,
  };
}
