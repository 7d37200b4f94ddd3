/**
 * Delivers a webhook: one attempt. The message is stored before the first one, so that every attempt, also a repeated
 * one after a crash, sends the same body under the same `webhook-id`.
 */
import { randomUUID } from 'node:crypto';
import { cancellationSignal } from '@temporalio/activity';
import { FareboxError } from '../domain/errors.ts';
import { jobWhenStored, presentJobWithTimeline } from '../domain/presentJob.ts';
import { WEBHOOK_TIMEOUT_MS, type WebhookError, webhookErrorOf } from '../domain/webhooks.ts';
import { failpoint } from '../infra/failpoints.ts';
import { signatureHeaders } from '../infra/http/webhookSignature.ts';
import { timelineOf } from '../infra/postgres/jobEvents.ts';
import { moneyOfJobs } from '../infra/postgres/jobMoney.ts';
import { readJob } from '../infra/postgres/jobs.ts';
import {
  attemptOf,
  type DeliveryTarget,
  findTarget,
  openDelivery,
  recordAttempt,
} from '../infra/postgres/webhookDeliveries.ts';
import { webhookSecretOf } from '../infra/postgres/webhookSecrets.ts';
import { webhookAttempts } from '../infra/telemetry/counters.ts';
import type { ActivityDependencies } from './dependencies.ts';
import type { AttemptResult, WebhookAttempt } from './types.ts';

/** `step`: id of this step within the delivery, equal for its repetitions. */
export async function deliverWebhook(
  dependencies: ActivityDependencies,
  attempt: WebhookAttempt,
  step: string,
): Promise<AttemptResult> {
  const target = await begun(dependencies, attempt);
  if (!target) return { outcome: 'forgotten' };
  const made = await attemptOf(dependencies.pool, { deliveryId: target.id, step });
  if (made) return resultOf(made.status, made.error);
  const at = new Date();
  const startedAt = performance.now();
  const { status, error } = await send(dependencies, target, at);
  const durationMs = Math.round(performance.now() - startedAt);
  await failpoint('webhook-sent');
  const { nextPauseMs } = attempt;
  await recordAttempt(dependencies.pool, {
    ...{ deliveryId: target.id, step, at, status, error, durationMs, nextPauseMs },
  });
  await failpoint('webhook-recorded');
  webhookAttempts.labels(error ?? 'delivered').inc();
  return resultOf(status, error);
}

function resultOf(status: number | null, error: WebhookError | null): AttemptResult {
  if (error === null) return { outcome: 'delivered' };
  if (error === 'gone') return { outcome: 'gone' };
  return { outcome: 'failed', error, status };
}

/** The stored message; undefined when its URL is no longer kept. */
async function begun(
  { pool }: ActivityDependencies,
  { queueId, event }: WebhookAttempt,
): Promise<DeliveryTarget | undefined> {
  const found = await findTarget(pool, { queueId, event });
  if (found) return found;
  await failpoint('webhook-begun');
  const job = await readJob(pool, queueId);
  if (!job) return undefined;
  const [timeline, money] = await Promise.all([timelineOf(pool, queueId), moneyOfJobs(pool, [queueId])]);
  const happened = timeline.find((entry) => `job.${entry.event}` === event);
  const id = randomUUID();
  // The client may have deleted the output before the message was written.
  const then = event === 'job.stored' ? jobWhenStored(job, timeline) : { job, timeline };
  const body = JSON.stringify({
    id,
    type: event,
    created_at: (happened?.at ?? new Date()).toISOString(),
    data: presentJobWithTimeline(then.job, money.get(queueId), then.timeline),
  });
  await openDelivery(pool, { id, queueId, event, body });
  return await findTarget(pool, { queueId, event });
}

async function send(
  { pool, guardedPost, log }: ActivityDependencies,
  { id, accountId, url, body }: DeliveryTarget,
  sentAt: Date,
): Promise<{ status: number | null; error: WebhookError | null }> {
  const { secret, previous } = await webhookSecretOf(pool, accountId);
  const secrets = previous ? [secret, previous] : [secret];
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Farebox',
    ...signatureHeaders(secrets, { id, sentAt, body }),
  };
  try {
    const signal = cancellationSignal();
    const status = await guardedPost.post(url, { headers, body, timeoutMs: WEBHOOK_TIMEOUT_MS, signal });
    return { status, error: webhookErrorOf(status) };
  } catch (error) {
    if (!(error instanceof FareboxError)) throw error;
    // The client learns that no receiver was reached; the reason is for the operator.
    log.info({ deliveryId: id, reason: error.internal }, 'a webhook found nobody');
    return { status: null, error: 'unreachable' };
  }
}
