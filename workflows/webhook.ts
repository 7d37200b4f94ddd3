/**
 * Delivers one event of a job to its client: attempts with growing pauses, until the receiver accepts it or refuses
 * further ones.
 */
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
  // The delivery has its own ten seconds; the rest is for the database.
  startToCloseTimeout: 30_000,
  heartbeatTimeout: 5_000,
  // Limit for a queue without workers.
  scheduleToCloseTimeout: 604_800_000,
  // A failing receiver is an outcome. The retries here are for a step that could not be run or recorded.
  retry: { initialInterval: 1_000, maximumInterval: 60_000 },
});

export async function webhook({ queueId, event, pausesMs }: WebhookInput): Promise<WebhookResult> {
  let wantedNow = false;
  setHandler(resendSignal, () => {
    wantedNow = true;
  });
  for (let attempt = 1; ; attempt += 1) {
    // This attempt serves all earlier requests to resend.
    wantedNow = false;
    const nextPauseMs = pausesMs[attempt - 1] ?? null;
    const result = await deliverWebhook({ queueId, event, attempt, nextPauseMs });
    setCurrentDetails(`**${wordsOf(result)}** · attempt ${attempt} of ${pausesMs.length + 1}`);
    const isOver = result.outcome !== 'failed' || nextPauseMs === null;
    // A request to resend may come between the answer of the receiver and the end of this run.
    if (isOver && !wantedNow) return { state: result.outcome, attempts: attempt };
    if (!isOver) await condition(() => wantedNow, nextPauseMs);
  }
}

function wordsOf(result: AttemptResult): string {
  if (result.outcome !== 'failed') return result.outcome;
  return result.status === null ? result.error : `${result.error} (${result.status})`;
}

/** Resolves when the delivery is certain. */
export async function notifyClient({ queueId, accountId }: GenerationInput, event: WebhookEvent): Promise<void> {
  const told = { queueId, accountId, event, pausesMs: WEBHOOK_PAUSES_MS };
  try {
    // Events of a cancelled job are delivered as well.
    await CancellationScope.nonCancellable(() =>
      startChild(webhook, {
        ...webhookOptions(told),
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        parentClosePolicy: ParentClosePolicy.ABANDON,
      }),
    );
  } catch (error) {
    // A delivery is running already. Compared by name: the workflow bundle lacks the package with the class.
    if (!(error instanceof Error && error.name === 'WorkflowExecutionAlreadyStartedError')) throw error;
  }
}
