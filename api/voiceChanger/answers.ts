/** What the voice-changer routes answer (specification 4.6 and 7). */
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

export const processingAnswer = z
  .strictObject({
    status: z.literal('PROCESSING'),
    average_execution_time: z.number().meta({ description: 'Milliseconds: P80 of the last executions.' }),
    execution_duration: z.number().meta({ description: 'Milliseconds since the job was accepted.' }),
  })
  .meta({ id: 'JobProcessing' });

export const failedAnswer = z
  .strictObject({ error: z.string(), credits_refunded: z.boolean() })
  .meta({ id: 'JobFailed' });

export const completeAnswer = z.strictObject({
  success: z.boolean().meta({ description: 'false: the media could not be deleted yet; ask again.' }),
});
