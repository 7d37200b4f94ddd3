/** Bodies and answers of the video routes (VIDEO-1, VIDEO-7, VIDEO-8). Unknown fields are refused. */
import { z } from 'zod';
import { OMNI_REFERENCE_TASKS } from '../../domain/generation/videoOrder.ts';
import { uuid } from '../http/describe.ts';
import { webhookFields } from '../queue/webhook.ts';

const model = z.string().min(1);
const MAX_PROMPT_LENGTH = 20_000;

/** All lengths of all models; with `-1` and `auto` the service chooses. */
const DURATIONS = [
  ...Array.from({ length: 30 }, (_, index) => `${index + 1}s`),
  '-1',
  '1 gen',
  'auto',
  'Auto',
] as const;
/** Length of a source in seconds, for models whose output is as long. */
const SOURCE_SECONDS = /^\d{1,3}(?:\.\d{1,3})?s?$/;
const duration = z
  .string()
  .max(16)
  .refine((text) => (DURATIONS as readonly string[]).includes(text) || SOURCE_SECONDS.test(text), {
    error: `Must be one of ${DURATIONS.slice(0, 3).join(', ')}, … ${DURATIONS.slice(29).join(', ')}`,
  });

const ASPECT_RATIOS = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '9:21', '16:9', '21:9'] as const;
const RESOLUTIONS = ['256p', '360p', '480p', '540p', '580p', '720p', '1080p', '1440p', '2160p'] as const;
const aspectRatio = z.enum([...ASPECT_RATIOS, 'adaptive', 'auto']);
const resolution = z.enum([...RESOLUTIONS, '4k', '2x', '4x', '2K', '768P', 'true_1080p']);
const upscaleFactor = z.union([z.literal(1), z.literal(2), z.literal(4)]);
const slowdownFactor = z.union([z.literal(1), z.literal(2), z.literal(4), z.literal(8)]);

/** A URL, or a data URL of 25 MB at most; its content is checked later. */
const address = z
  .string()
  .max(36_000_000)
  .refine((text) => /^(?:https?:\/\/|data:)/i.test(text), { error: 'Must be an http, https or data URL' })
  .refine((text) => /^data:/i.test(text) || text.length <= 8_192, {
    error: 'Must have at most 8192 characters',
  });
const addresses = (most: number) => z.array(address).min(1).max(most);

const strength = z.number().min(0).max(1);

const upscaleFields = {
  upscale_factor: upscaleFactor.optional(),
  enhancement_model: z.string().min(1).max(64).optional(),
  target_fps: z.int().min(16).max(120).optional(),
  slowdown_factor: slowdownFactor.optional(),
  compression: strength.optional(),
  creativity: strength.optional(),
  halo: strength.optional(),
  noise: strength.optional(),
  realism: strength.optional(),
  recover_detail: strength.optional(),
  sharp: strength.optional(),
  grain: z.number().min(0).max(0.1).optional(),
  softness: z.number().min(1).max(5).optional(),
  h264_output: z.boolean().optional(),
  output_format: z.enum(['mp4', 'prores']).optional(),
};

const cameraPoint = z.strictObject({
  time: z.number().min(0).max(1),
  azimuth: z.number().min(-100_000).max(100_000),
  elevation: z.number().min(-90).max(90),
  distance: z.number().positive().max(1_000),
});

const element = z.strictObject({
  frontal_image_url: address.optional(),
  reference_image_urls: addresses(3).optional(),
  video_url: address.optional(),
});

const keyframe = z.strictObject({ image_url: address, frame_index: z.int().min(0).max(100_000) });

const confirmed = z.literal(true, { error: 'Must be true' });
const consents = z.strictObject({
  seedance: z
    .strictObject({
      confirmed_terms_and_privacy: confirmed,
      confirmed_legal_right: confirmed,
      confirmed_screening_acknowledged: confirmed,
    })
    .optional(),
});

/** Further spellings of a task (VIDEO-6). */
const TASK_ALIASES: Record<string, string> = { editing: 'edit', extension: 'extend' };
const omniReferenceTask = z
  .string()
  .max(32)
  .transform((text) => TASK_ALIASES[text.toLowerCase()] ?? text.toLowerCase())
  .pipe(z.enum(OMNI_REFERENCE_TASKS));

export const videoQueueBody = z.strictObject({
  model,
  prompt: z.string().min(1).max(MAX_PROMPT_LENGTH).optional(),
  negative_prompt: z.string().max(MAX_PROMPT_LENGTH).optional(),
  duration: duration.optional(),
  aspect_ratio: aspectRatio.optional(),
  resolution: resolution.optional(),
  audio: z.boolean().optional(),
  bitrate_mode: z.enum(['standard', 'high']).optional(),
  omni_reference_task_type: omniReferenceTask.optional(),
  camera_trajectory: z.array(cameraPoint).min(2).max(12).optional(),
  consents: consents.optional(),
  image_url: address.optional(),
  end_image_url: address.optional(),
  audio_url: address.optional(),
  video_url: address.optional(),
  reference_image_urls: addresses(30).optional(),
  reference_video_urls: addresses(10).optional(),
  reference_audio_urls: addresses(10).optional(),
  reference_document_urls: addresses(1).optional(),
  scene_image_urls: addresses(4).optional(),
  elements: z.array(element).min(1).max(4).optional(),
  keyframes: z.array(keyframe).min(1).max(10).optional(),
  ...upscaleFields,
  ...webhookFields,
});

export type VideoQueueBody = z.output<typeof videoQueueBody>;

/** Body of the quote, which ignores fields that a model does not have; the queue refuses them (VIDEO-1). */
export const videoQuoteBody = z.strictObject({
  model,
  duration: duration.optional(),
  aspect_ratio: aspectRatio.optional(),
  resolution: resolution.optional(),
  audio: z.boolean().optional(),
  video_url: address.optional(),
  reference_video_total_duration: z.number().min(0).max(36_000).optional(),
  reference_image_count: z.int().min(0).max(30).optional(),
  upscale_factor: upscaleFactor.optional(),
  enhancement_model: z.string().min(1).max(64).optional(),
  target_fps: z.int().min(16).max(120).optional(),
  slowdown_factor: slowdownFactor.optional(),
});

export type VideoQuoteBody = z.output<typeof videoQuoteBody>;

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
