/** Answers of the voice-changer routes (AUDIO-3, AUDIO-4). */
import { z } from 'zod';
import { uuid } from '../describe.ts';

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
