/** Answers of the audio routes (AUDIO-1). */
import { z } from 'zod';
import { uuid } from '../describe.ts';

export const audioQuoteAnswer = z.strictObject({ quote: z.number().min(0).meta({ description: 'USD.' }) });

export const queuedAudioAnswer = z
  .strictObject({ model: z.string(), queue_id: uuid, status: z.literal('QUEUED') })
  .meta({ id: 'QueuedAudio' });
