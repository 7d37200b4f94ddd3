/** Answers of the video routes (VIDEO-7, VIDEO-8). */
import { z } from 'zod';
import { uuid } from '../describe.ts';

export const videoQuoteAnswer = z.strictObject({ quote: z.number().min(0).meta({ description: 'USD.' }) });

export const queuedVideoAnswer = z
  .strictObject({
    model: z.string(),
    queue_id: uuid,
    download_url: z.string().optional().meta({
      description: 'Of private models: where the video will be, for at most 24 hours, without a credential.',
    }),
  })
  .meta({ id: 'QueuedVideo' });

export const needsConsentAnswer = z
  .strictObject({
    error: z.strictObject({ code: z.literal('needs_consent'), message: z.string() }),
    consent_flow: z.enum(['seedance']),
    face_media_roles: z.array(z.enum(['image', 'end_image', 'reference_image', 'video', 'reference_video'])),
    consent: z.strictObject({ consent_version: z.string(), policy_text: z.string() }),
    docs_url: z.string(),
  })
  .meta({ id: 'NeedsConsent' });
