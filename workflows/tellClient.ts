/** Has a client told about its job, by a workflow that outlives the job's. */
import { CancellationScope, ParentClosePolicy, startChild } from '@temporalio/workflow';
import { WEBHOOK_PAUSES_MS, type WebhookEvent } from '../domain/webhooks.ts';
import { type GenerationInput, webhookOptions } from './contract.ts';
import { webhook } from './webhook.ts';

/** Resolves when it is certain to be told. */
export async function tellClient(
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
