/**
 * Webhook of an order: two fields of the body, checked before the charge. The URL is kept in the database only; the
 * workflow gets the names of the events.
 */
import { z } from 'zod';
import { DEFAULT_WEBHOOK_EVENTS, WEBHOOK_EVENTS, WEBHOOK_URL_CHARACTERS } from '../../domain/webhooks.ts';
import type { Config } from '../../infra/config/config.ts';
import { isPlainlyRefused } from '../../infra/http/targetUrl.ts';
import { dropWebhook, type JobWebhook, keepWebhook } from '../../infra/postgres/jobWebhooks.ts';
import type { Dependencies } from '../dependencies.ts';
import { invalid } from '../http/invalid.ts';
import type { JobOrder } from './placeOrder.ts';

const url = z
  .string()
  .min(1)
  .max(WEBHOOK_URL_CHARACTERS)
  .meta({ description: 'Gets a signed POST for each of `webhook_events`: http or https, a public host.' });
const events = z
  .array(z.enum(WEBHOOK_EVENTS))
  .min(1)
  .max(WEBHOOK_EVENTS.length)
  .meta({ description: `Those that are told; ${DEFAULT_WEBHOOK_EVENTS.join(', ')} when left out.` });

export const webhookFields = { webhook_url: url.optional(), webhook_events: events.optional() };

/** Multipart fields are text: one field has the events, separated by commas. */
export const webhookFormFields = {
  webhook_url: url.optional(),
  webhook_events: z
    .string()
    .max(200)
    .transform((text) => text.split(',').map((event) => event.trim()))
    .pipe(events)
    .optional(),
};

type WebhookBody = Partial<z.output<z.ZodObject<typeof webhookFields>>>;
type Webhook = Pick<JobWebhook, 'url' | 'events'>;

/** Undefined: no webhook. Throws FareboxError `invalid_request` for a URL that can never be called. */
export function readWebhook({ fetch }: Pick<Config, 'fetch'>, body: WebhookBody): Webhook | undefined {
  const { webhook_url: address, webhook_events: wanted } = body;
  if (address === undefined) {
    if (wanted !== undefined) throw invalid('webhook_events', 'Needs a webhook_url');
    return undefined;
  }
  if (isPlainlyRefused(address, fetch.allowPrivateHosts)) throw invalid('webhook_url', UNUSABLE);
  return { url: address, events: [...new Set(wanted ?? DEFAULT_WEBHOOK_EVENTS)] };
}

const UNUSABLE = 'Must be an http or https URL of a public host, on port 80 or 443, without a user name or password';

/**
 * Adds the webhook to the objects of an order. It is written before the workflow starts: an event must not precede its
 * address.
 */
export function withWebhook(
  { core: { sql } }: Pick<Dependencies, 'core'>,
  order: JobOrder,
  webhook?: Webhook,
): JobOrder {
  if (!webhook) return order;
  const { parts } = order;
  return {
    ...order,
    inputOf: (queueId) => ({ ...order.inputOf(queueId), webhook: { events: webhook.events } }),
    parts: {
      together: false,
      async put(queueId) {
        const { accountId } = order.inputOf(queueId);
        await Promise.all([keepWebhook(sql, { queueId, accountId, ...webhook }), parts.put(queueId)]);
      },
      async remove(queueId) {
        await Promise.all([dropWebhook(sql, queueId), parts.remove(queueId)]);
      },
    },
  };
}
