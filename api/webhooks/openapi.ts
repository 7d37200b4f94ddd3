/** Descriptions of the webhook routes. */
import { z } from 'zod';
import { answersWith, orderedJobCommands, type RouteDescription } from '../http/describe.ts';
import { deliveryAnswer, deliveryListAnswer, webhookSecretAnswer } from './schema.ts';

const queueId = z.string().meta({ description: 'As the queue route answered it.' });

const TOLD_JOB = [
  ...orderedJobCommands('webhook_url=https://example.com/hooks'),
  `until DELIVERY_ID=$(curl -sS "$FAREBOX_URL/jobs/$QUEUE_ID/deliveries" -H "Authorization: Bearer $FAREBOX_API_KEY" |
  field id); [ -n "$DELIVERY_ID" ]
do sleep 1; done`,
];

type WebhookDescriptions = Record<'deliveries' | 'resend' | 'secret' | 'rotate', RouteDescription>;

export const WEBHOOK_DESCRIPTIONS: WebhookDescriptions = {
  deliveries: {
    group: 'Webhooks',
    operationId: 'listDeliveries',
    summary: 'What was told about a job, and how each attempt went',
    description:
      'One delivery per event, oldest first. A message is a POST of `{id, type, created_at, data}`, where `data` is the job ' +
      'as `GET /jobs/{queue_id}` showed it then, signed by the Standard Webhooks convention. It counts as taken by an ' +
      'answer of 2xx within 10 s; until then it is sent again 8 times within 23 h, with growing pauses. 410 ends that, ' +
      'redirects are not followed. Several attempts can arrive: they have the same `webhook-id`. Kept for 30 days after ' +
      'the end of the job.',
    params: z.object({ queue_id: queueId }),
    answers: answersWith(deliveryListAnswer),
    errors: ['request_id_invalid'],
    example: { before: TOLD_JOB, params: { queue_id: '$QUEUE_ID' } },
  },
  resend: {
    group: 'Webhooks',
    operationId: 'resendDelivery',
    summary: 'Send a message again',
    description:
      'The same message under the same id: at once where it is still tried, else in a new round of attempts. 409 when it ' +
      'was attempted too often. The answer is the delivery as it was before.',
    params: z.object({ queue_id: queueId, id: z.string().meta({ description: 'Of the delivery.' }) }),
    answers: answersWith(deliveryAnswer, 'It is on its way.'),
    errors: ['request_id_invalid', 'conflict', 'unavailable'],
    example: { before: TOLD_JOB, params: { queue_id: '$QUEUE_ID', id: '$DELIVERY_ID' } },
  },
  secret: {
    group: 'Webhooks',
    operationId: 'showWebhookSecret',
    summary: 'The secret that signs the messages of the account',
    answers: answersWith(webhookSecretAnswer),
    example: {},
  },
  rotate: {
    group: 'Webhooks',
    operationId: 'rotateWebhookSecret',
    summary: 'Sign with a new secret',
    description:
      'For 24 hours every message has two signatures, by the new secret and by the one before it, so that receivers can ' +
      'change over in the meantime.',
    answers: answersWith(webhookSecretAnswer),
    example: {},
  },
};
