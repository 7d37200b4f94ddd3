/** Bodies and answers of the voice-changer routes (AUDIO-3, AUDIO-4). Unknown fields are refused. */
import { z } from 'zod';
import { uuid } from '../http/describe.ts';
import { webhookFields, webhookFormFields } from '../queue/webhook.ts';

const DIGITS = /^\d{1,7}(\.\d{1,6})?$/;

const model = z.string().min(1);

export const quoteBody = z.strictObject({
  model,
  /** A number above 0; digits in a string are accepted, as in other deployments of this API. */
  duration_seconds: z.union([
    z.number().positive(),
    z.string().regex(DIGITS).transform(Number).pipe(z.number().positive()),
  ]),
});

const voice = z.string().min(1).max(60);
/** `z.int` ends at 2^53, above which JSON numbers lose precision. */
const seed = z.int().min(0);
const audioUrl = z.string().min(1).max(8_192);

export const queueJson = z.strictObject({
  model,
  audio_url: audioUrl.optional(),
  voice: voice.optional(),
  remove_background_noise: z.boolean().optional(),
  seed: seed.optional(),
  ...webhookFields,
});

/** Multipart fields are text: booleans are "true" and "false", the seed is in digits. */
export const queueFields = z.strictObject({
  model,
  audio_url: audioUrl.optional(),
  voice: voice.optional(),
  remove_background_noise: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional(),
  seed: z
    .string()
    .regex(/^\d{1,16}$/)
    .transform(Number)
    .pipe(seed)
    .optional(),
  ...webhookFormFields,
});

export type QueueBody = z.output<typeof queueJson>;

export const quoteAnswer = z.strictObject({
  quote: z.number().min(0).meta({ description: 'USD.' }),
  duration_seconds: z.number().positive(),
});

export const queuedAnswer = z
  .strictObject({
    model: z.string(),
    queue_id: uuid,
    status: z.literal('QUEUED'),
    duration_seconds: z.number().positive().meta({ description: 'As measured; this is what was charged.' }),
  })
  .meta({ id: 'QueuedVoiceChange' });
