/** Wires the steps to the names by which the workflows call them. */

import { Context } from '@temporalio/activity';
import type { GenerationInput } from '../workflows/contract.ts';
import { acceptJob } from './acceptJob.ts';
import { deliverWebhook } from './deliverWebhook.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { abandonJob, discardSource, endJob } from './endJob.ts';
import { asActivity } from './failures.ts';
import { awaitOutcome, generate } from './generate.ts';
import { measuredOrder } from './measuredOrder.ts';
import { measureMedia } from './measureMedia.ts';
import { measureSource } from './measureSource.ts';
import { removeMedia } from './removeMedia.ts';
import { concludeTopUp, examineTopUp, recordTopUp, settleTopUp, watchTopUp } from './topUp.ts';
import type {
  JobsActivities,
  MeasureResult,
  MediaActivities,
  ProviderActivities,
  TopUpActivities,
  UpkeepActivities,
  WebhookActivities,
  WebhookAttempt,
} from './types.ts';
import { performDuty } from './upkeep.ts';

export type Activities = JobsActivities &
  MediaActivities &
  ProviderActivities &
  TopUpActivities &
  UpkeepActivities &
  WebhookActivities;

export function createActivities(dependencies: ActivityDependencies): Activities {
  return {
    measureSource: ({ job }) => asActivity(() => measure(dependencies, job)),
    acceptJob: (order) => asActivity(() => acceptJob(dependencies, measuredOrder(order))),
    discardSource: (discarded) => asActivity(() => discardSource(dependencies, discarded)),
    generate: (order) => asActivity(() => generate(dependencies, measuredOrder(order))),
    awaitOutcome: ({ job, operation }) => asActivity(() => awaitOutcome(dependencies, job, operation)),
    endJob: (input) => asActivity(() => endJob(dependencies, input)),
    abandonJob: (input) => asActivity(() => abandonJob(dependencies, input)),
    removeMedia: (input) => asActivity(() => removeMedia(dependencies, input)),
    deliverWebhook: (attempt) => asActivity(() => deliverWebhook(dependencies, attempt, stepOf(attempt))),
    recordTopUp: (input) => asActivity(() => recordTopUp(dependencies, input)),
    settleTopUp: (input) => asActivity(() => settleTopUp(dependencies, input)),
    watchTopUp: (input) => asActivity(() => watchTopUp(dependencies, input)),
    examineTopUp: (input) => asActivity(() => examineTopUp(dependencies, input)),
    concludeTopUp: (input) => asActivity(() => concludeTopUp(dependencies, input)),
    performDuty: ({ duty, ...options }) => asActivity(() => performDuty(dependencies, duty, options)),
  };
}

function measure(dependencies: ActivityDependencies, job: GenerationInput): Promise<MeasureResult> {
  if (job.kind === 'voice-changer') return measureSource(dependencies, job);
  if (job.kind === 'video') return measureMedia(dependencies, job);
  throw new Error(`nothing to measure of a job of kind ${job.kind}`);
}

/** The same for every repetition of the step, another for the next run of the workflow. */
function stepOf({ attempt }: WebhookAttempt): string {
  return `${Context.current().info.workflowExecution?.runId ?? 'alone'} ${attempt}`;
}
