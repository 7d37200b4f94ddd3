/** GET /jobs/{queue_id}/deliveries and POST …/{id}/resend: lists the webhook deliveries of a job, and repeats one. */
import { FareboxError } from '../../domain/errors.ts';
import { MAX_WEBHOOK_ATTEMPTS, WEBHOOK_PAUSES_MS } from '../../domain/webhooks.ts';
import { type Delivery, deliveriesOf, type RecordedAttempt } from '../../infra/postgres/webhookDeliveries.ts';
import type { Temporal } from '../../infra/temporal/connect.ts';
import { RESEND_SIGNAL, WEBHOOK_WORKFLOW, type WebhookInput, webhookOptions } from '../../workflows/contract.ts';
import { json } from '../http/answer.ts';
import { defineRoute } from '../http/route.ts';
import { findOwnJob } from '../queue/findOwnJob.ts';
import { WEBHOOK_DESCRIPTIONS } from './openapi.ts';

const RESEND_LIMIT_MS = 10_000;

export const listDeliveriesRoute = defineRoute({
  method: 'GET',
  path: '/jobs/{queue_id}/deliveries',
  access: 'caller',
  describes: WEBHOOK_DESCRIPTIONS.deliveries,
  async handler({ core: { sql } }, { caller, params }) {
    const job = await findOwnJob(sql, caller, params.queue_id ?? '');
    const deliveries = await deliveriesOf(sql, job.queueId);
    return json({ object: 'list', data: deliveries.map(presentDelivery) });
  },
});

/** Sends the same message under the same id: at once if it is still being tried, else by a new round of attempts. */
export const resendDeliveryRoute = defineRoute({
  method: 'POST',
  path: '/jobs/{queue_id}/deliveries/{id}/resend',
  access: 'caller',
  describes: WEBHOOK_DESCRIPTIONS.resend,
  async handler({ core: { sql }, jobs: { temporal } }, { caller, params }) {
    const job = await findOwnJob(sql, caller, params.queue_id ?? '');
    const id = params.id?.toLowerCase();
    const delivery = (await deliveriesOf(sql, job.queueId)).find((each) => each.id === id);
    if (!delivery) throw new FareboxError({ code: 'request_id_invalid', message: 'Delivery ID is invalid.' });
    const room = MAX_WEBHOOK_ATTEMPTS - delivery.attempts.length;
    if (room <= WEBHOOK_PAUSES_MS.length) {
      const message = `This delivery was attempted ${delivery.attempts.length} times; it is not sent again.`;
      throw new FareboxError({ code: 'conflict', message });
    }
    const { queueId, event } = delivery;
    await resend(temporal, { queueId, accountId: job.accountId, event, pausesMs: WEBHOOK_PAUSES_MS });
    return json(presentDelivery(delivery));
  },
});

async function resend(temporal: Temporal, input: WebhookInput): Promise<void> {
  try {
    await temporal.within(RESEND_LIMIT_MS, (client) =>
      client.workflow.signalWithStart(WEBHOOK_WORKFLOW, {
        ...webhookOptions(input),
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        signal: RESEND_SIGNAL,
      }),
    );
  } catch (cause) {
    const message = 'The delivery cannot be sent again at the moment; please try again.';
    throw new FareboxError({ code: 'unavailable', message, retryAfterSeconds: 5, cause });
  }
}

function presentDelivery(delivery: Delivery) {
  const { id, event, url, state, createdAt, nextAttemptAt, attempts } = delivery;
  return {
    ...{ id, object: 'webhook_delivery', event, url, state },
    created_at: createdAt.toISOString(),
    next_attempt_at: nextAttemptAt?.toISOString() ?? null,
    attempts: attempts.map(presentAttempt),
  };
}

function presentAttempt({ attempt, at, status, error, durationMs }: RecordedAttempt) {
  return { attempt, at: at.toISOString(), status, error, duration_ms: durationMs };
}
