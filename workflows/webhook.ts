/** Tells a client of one event of its job: attempts with growing pauses, until somebody takes it or says to stop. */
import { condition, proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { AttemptResult, WebhookActivities } from '../activities/types.ts';
import type { WebhookInput, WebhookResult } from './contract.ts';
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
