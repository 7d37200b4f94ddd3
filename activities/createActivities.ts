/** Binds the steps to the activity names of the workflows. */

import { Context } from '@temporalio/activity';
import type { TaskQueue } from '../domain/queues.ts';
import type { GenerationInput } from '../workflows/contract.ts';
import { acceptJob } from './acceptJob.ts';
import { asActivity } from './asActivity.ts';
import { deliverWebhook } from './deliverWebhook.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { abandonJob, discardSource, endJob, removeMedia } from './endJob.ts';
import { awaitOutcome, generate } from './generate.ts';
import { type MeasuredOrder, measuredOrder } from './jobTerms.ts';
import { measureMedia } from './measureMedia.ts';
import { measureSource } from './measureSource.ts';
import { runInShare } from './runInShare.ts';
import { concludeTopUp, examineTopUp, recordTopUp, settleTopUp, watchTopUp } from './topUp.ts';
import type {
  GenerateResult,
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

const MEDIA_QUEUE: TaskQueue = 'media';

export function createActivities(dependencies: ActivityDependencies): Activities {
  return {
    measureSource: ({ job }) => asActivity(() => measure(dependencies, job)),
    acceptJob: (order) => asActivity(() => acceptJob(dependencies, measuredOrder(order))),
    discardSource: (discarded) => asActivity(() => discardSource(dependencies, discarded)),
    generate: (order) => asActivity(() => generateInTurn(dependencies, measuredOrder(order))),
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

async function measure(dependencies: ActivityDependencies, job: GenerationInput): Promise<MeasureResult> {
  return await runInShare(dependencies, job.accountId, async (share) => {
    if (job.kind === 'voice-changer') return await measureSource(dependencies, job, share);
    if (job.kind === 'video') return await measureMedia(dependencies, job, share);
    throw new Error(`nothing to measure of a job of kind ${job.kind}`);
  });
}

/** Local generations use cores; remote ones wait for the network. */
async function generateInTurn(dependencies: ActivityDependencies, order: MeasuredOrder): Promise<GenerateResult> {
  const { taskQueue } = Context.current().info;
  if (taskQueue !== MEDIA_QUEUE) return await generate(dependencies, order);
  return await runInShare(dependencies, order.job.accountId, () => generate(dependencies, order));
}

/** Constant for all attempts of the step, different for the next run of the workflow. */
function stepOf({ attempt }: WebhookAttempt): string {
  return `${Context.current().info.workflowExecution?.runId ?? 'alone'} ${attempt}`;
}
