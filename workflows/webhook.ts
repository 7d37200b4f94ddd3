/** Tells a client of one event of its job: attempts with growing pauses, until somebody takes it or says to stop. */
import {
  CancellationScope,
  condition,
  ParentClosePolicy,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  startChild,
} from '@temporalio/workflow';
import type { AttemptResult, WebhookActivities } from '../activities/types.ts';
import { WEBHOOK_PAUSES_MS, type WebhookEvent } from '../domain/webhooks.ts';
import { type GenerationInput, type WebhookInput, type WebhookResult, webhookOptions } from './contract.ts';
import { resendSignal } from './messages.ts';

const { deliverWebhook } = proxyActivities<WebhookActivities>({
  taskQueue: 'webhooks',
  // The conversation has its own ten seconds; the rest is for the database.
  startToCloseTimeout: 30_000,
  heartbeatTimeout: 5_000,
  // A queue that nobody serves for a week is no longer waited for.
  scheduleToCloseTimeout: 604_800_000,
  // A receiver that fails is an outcome. What is tried again here is a step that could not be made or recorded.
  retry: { initialInterval: 1_000, maximumInterval: 60_000 },
});

export async function webhook({ queueId, event, pausesMs }: WebhookInput): Promise<WebhookResult> {
  let wantedNow = false;
  setHandler(resendSignal, () => {
    wantedNow = true;
  });
  for (let attempt = 1; ; attempt += 1) {
    // Whoever asked for it before this attempt is served by it.
    wantedNow = false;
    const nextPauseMs = pausesMs[attempt - 1] ?? null;
    const result = await deliverWebhook({ queueId, event, attempt, nextPauseMs });
    setCurrentDetails(`**${wordsOf(result)}** · attempt ${attempt} of ${pausesMs.length + 1}`);
    const isOver = result.outcome !== 'failed' || nextPauseMs === null;
    // Who asks for it once more may do so between the answer of the receiver and the end of this run.
    if (isOver && !wantedNow) return { state: result.outcome, attempts: attempt };
    if (!isOver) await condition(() => wantedNow, nextPauseMs);
  }
}

function wordsOf(result: AttemptResult): string {
  if (result.outcome !== 'failed') return result.outcome;
  return result.status === null ? result.error : `${result.error} (${result.status})`;
}

/** Resolves when it is certain to be told. */
export async function notifyClient(
  { queueId, accountId }: GenerationInput,
  event: WebhookEvent,
): Promise<void> {
  const told = { queueId, accountId, event, pausesMs: WEBHOOK_PAUSES_MS };
  try {
    // A job that is cancelled is told of all the same.
    await CancellationScope.nonCancellable(() =>
      startChild(webhook, {
        ...webhookOptions(told),
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        parentClosePolicy: ParentClosePolicy.ABANDON,
      }),
    );
  } catch (error) {
    // Somebody else tells it already. By name: the bundle of the workflows has none of the package that has the class.
    if (!(error instanceof Error && error.name === 'WorkflowExecutionAlreadyStartedError')) throw error;
  }
}
