/** Bodies and answers of the audio routes (AUDIO-1). Unknown fields are refused. */
import { z } from 'zod';
import { uuid } from '../http/describe.ts';
import { wholeSeconds } from '../queue/jobBodies.ts';
import { webhookFields } from '../queue/webhook.ts';

const model = z.string().min(1);
/** More than any model accepts; its entry has the limit of each model. */
const MAX_CHARACTERS = 100_000;

const characterCount = z.int().positive().max(MAX_CHARACTERS);

export const audioQuoteBody = z.strictObject({
  model,
  duration_seconds: wholeSeconds.optional(),
  character_count: characterCount.optional(),
});

export const audioQueueBody = z.strictObject({
  model,
  prompt: z.string().max(MAX_CHARACTERS),
  lyrics_prompt: z.string().min(1).max(MAX_CHARACTERS).optional(),
  duration_seconds: wholeSeconds.optional(),
  force_instrumental: z.boolean().optional(),
  lyrics_optimizer: z.boolean().optional(),
  loop: z.boolean().optional(),
  voice: z.string().min(1).max(512).optional(),
  /** ISO 639-1. */
  language_code: z
    .string()
    .regex(/^[a-z]{2}$/i, 'Must be an ISO 639-1 code of two letters')
    .optional(),
  speed: z.number().min(0.25).max(4).optional(),
  ...webhookFields,
});

export const audioQuoteAnswer = z.strictObject({ quote: z.number().min(0).meta({ description: 'USD.' }) });

export const queuedAudioAnswer = z
  .strictObject({ model: z.string(), queue_id: uuid, status: z.literal('QUEUED') })
  .meta({ id: 'QueuedAudio' });
