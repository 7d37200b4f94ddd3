/** Webhook fields in the bodies of all queue routes. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { audioQueueBody } from '../../../api/audio/schema.ts';
import { readWebhook, webhookFields } from '../../../api/queue/webhook.ts';
import { queueFields, queueJson } from '../../../api/voiceChanger/schema.ts';
import { FareboxError } from '../../../domain/errors.ts';
import { DEFAULT_WEBHOOK_EVENTS } from '../../../domain/webhooks.ts';

const url = 'https://hooks.example.com/farebox?token=1';
const config = { fetch: { allowPrivateHosts: ['127.0.0.1:9000'] } };

describe('the webhook fields of an order', () => {
  const bodies: [string, z.ZodType, object][] = [
    ['voice changer', queueJson, { model: 'm' }],
    ['audio', audioQueueBody, { model: 'm', prompt: 'p' }],
    ['any other', z.strictObject(webhookFields), {}],
  ];
  it.each(bodies)('are accepted in the JSON of the %s', (_kind, schema, rest) => {
    const webhook = { webhook_url: url, webhook_events: ['job.stored'] };
    expect(schema.parse({ ...rest, ...webhook })).toMatchObject(webhook);
    const wrong = [
      { webhook_url: `https://hooks.example.com/${'a'.repeat(2_048)}` },
      { webhook_url: '' },
      { webhook_url: [url] },
      { webhook_url: url, webhook_events: [] },
      { webhook_url: url, webhook_events: ['job.started'] },
      { webhook_url: url, webhook_events: Array.from({ length: 7 }, () => 'job.stored') },
    ];
    for (const fields of wrong) {
      expect(schema.safeParse({ ...rest, ...fields }).success, JSON.stringify(fields).slice(0, 80)).toBe(false);
    }
  });

  it('are accepted in the form of the voice changer, with commas between events', () => {
    const parse = (webhook_events: string) =>
      queueFields.safeParse({ model: 'm', webhook_url: url, webhook_events }).data?.webhook_events;
    expect(parse('job.stored')).toEqual(['job.stored']);
    expect(parse('job.stored, job.expired')).toEqual(['job.stored', 'job.expired']);
    for (const wrong of ['', ',', 'job.stored,', 'stored', '["job.stored"]']) expect(parse(wrong)).toBeUndefined();
  });
});

describe('the webhook of an order', () => {
  it('is absent by default', () => {
    expect(readWebhook(config, {})).toBeUndefined();
  });

  it('gets the final events by default, and each chosen event once', () => {
    expect(readWebhook(config, { webhook_url: url })).toEqual({ url, events: DEFAULT_WEBHOOK_EVENTS });
    const chosen = { webhook_url: url, webhook_events: ['job.expired', 'job.expired'] as 'job.expired'[] };
    expect(readWebhook(config, chosen)).toEqual({ url, events: ['job.expired'] });
  });

  it('may be on a private host that the operator allowed', () => {
    const inside = 'http://127.0.0.1:9000/hook';
    expect(readWebhook(config, { webhook_url: inside })?.url).toBe(inside);
  });

  it.each([
    ['events without an address', { webhook_events: ['job.stored'] as 'job.stored'[] }, 'webhook_events'],
    ['a private host', { webhook_url: 'http://127.0.0.1:9001/hook' }, 'webhook_url'],
    ['no URL', { webhook_url: 'hooks.example.com' }, 'webhook_url'],
  ])('is refused for %s with the name of the field', (_what, body, field) => {
    expect(() => readWebhook(config, body)).toThrow(FareboxError);
    try {
      readWebhook(config, body);
    } catch (error) {
      expect(Object.keys((error as FareboxError).fields ?? {})).toEqual([field]);
    }
  });
});
