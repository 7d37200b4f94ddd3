/** Activities of a generation, each with its queue, deadlines and summary for operators. */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { JobsActivities, MediaActivities, ProviderActivities } from '../activities/types.ts';
import type { GenerationInput } from './contract.ts';

export interface Steps {
  /** On the media queue: fetch, check the signature, decode. */
  media: MediaActivities;
  /** Local activities for the ledger: short, idempotent, one database round trip (bench `jobs`). */
  ledger: Pick<JobsActivities, 'acceptJob' | 'discardSource'>;
  /** Never given up: refunds and removals. */
  untilDone: Pick<JobsActivities, 'endJob' | 'abandonJob' | 'removeMedia'>;
  provider: Pick<ProviderActivities, 'generate'>;
  /** Retried with growing pauses until there is an outcome: the pauses add nothing to the history (bench `waiting`). */
  polling: Pick<ProviderActivities, 'awaitOutcome'>;
}

const MEASURE_LIMIT_MS = 45_000;

export function createSteps(input: GenerationInput): Steps {
  const { timing, provider, modelId, providerQueue, accountId } = input;
  const unfailing = {
    taskQueue: 'jobs',
    startToCloseTimeout: 20_000,
    heartbeatTimeout: timing.heartbeatMs,
    retry: { initialInterval: 500, maximumInterval: 60_000 },
  } as const;
  const ending = proxyActivities<JobsActivities>({ ...unfailing, summary: 'end without an output: refund' });
  const removing = proxyActivities<JobsActivities>({ ...unfailing, summary: 'delete the media' });
  return {
    media: proxyActivities<MediaActivities>({
      taskQueue: 'media',
      startToCloseTimeout: MEASURE_LIMIT_MS,
      scheduleToCloseTimeout: MEASURE_LIMIT_MS,
      heartbeatTimeout: timing.heartbeatMs,
      retry: { initialInterval: 500, maximumInterval: 5_000 },
      // Its client waits, and long local generations use the same queue.
      priority: { priorityKey: 1, fairnessKey: accountId },
      summary: 'measure the source',
    }),
    ledger: proxyLocalActivities<JobsActivities>({
      startToCloseTimeout: 5_000,
      scheduleToCloseTimeout: 8_000,
      retry: { initialInterval: 100, maximumInterval: 1_000 },
    }),
    untilDone: { endJob: ending.endJob, abandonJob: ending.abandonJob, removeMedia: removing.removeMedia },
    provider: proxyActivities<ProviderActivities>({
      taskQueue: providerQueue,
      startToCloseTimeout: timing.deadlineMs,
      heartbeatTimeout: timing.heartbeatMs,
      retry: { initialInterval: 1_000, maximumInterval: 30_000 },
      summary: `${modelId} at ${provider}`,
    }),
    polling: proxyActivities<ProviderActivities>({
      taskQueue: providerQueue,
      startToCloseTimeout: timing.deadlineMs,
      heartbeatTimeout: timing.heartbeatMs,
      retry: {
        initialInterval: timing.pollFirstMs,
        backoffCoefficient: 1.5,
        maximumInterval: timing.pollLongestMs,
      },
      summary: `wait for ${provider}`,
    }),
  };
}
