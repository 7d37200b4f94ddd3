/** Answers of the webhook routes, which are an addition to the published API (API-17). */
import { z } from 'zod';
import { DELIVERY_STATES, WEBHOOK_ERRORS, WEBHOOK_EVENTS } from '../../domain/webhooks.ts';
import { isoTime, listOf, uuid } from '../http/describe.ts';

export const webhookSecretAnswer = z.strictObject({
  object: z.literal('webhook_secret'),
  secret: z.string().meta({ description: '`whsec_` and base64, as the Standard Webhooks libraries take it.' }),
  created_at: isoTime,
  previous_works_until: isoTime
    .nullable()
    .meta({ description: 'Until then the secret before this one signs every message, too.' }),
});

const attempt = z.strictObject({
  attempt: z.int(),
  at: isoTime,
  status: z.int().nullable().meta({ description: 'Of the answer; null when there was none.' }),
  error: z.enum(WEBHOOK_ERRORS).nullable().meta({ description: 'Null: taken.' }),
  duration_ms: z.int(),
});

export const deliveryAnswer = z
  .strictObject({
    id: uuid.meta({ description: 'The `webhook-id` and the `id` of the message.' }),
    object: z.literal('webhook_delivery'),
    event: z.enum(WEBHOOK_EVENTS),
    url: z.string(),
    state: z.enum(DELIVERY_STATES),
    created_at: isoTime,
    next_attempt_at: isoTime.nullable(),
    attempts: z.array(attempt),
  })
  .meta({ id: 'WebhookDelivery' });

export const deliveryListAnswer = listOf(deliveryAnswer);
