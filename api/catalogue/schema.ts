/** Answers of the catalogue routes (MODEL-1, MODEL-6, MODEL-11). */
import { z } from 'zod';
import { MODEL_TYPES } from '../../domain/catalogue/model.ts';
import { CAPABILITY_FLAGS } from '../../domain/catalogue/specs.ts';
import { ON_DISCONNECT } from '../../domain/providerSettings.ts';
import { isoTime, listOf, uuid } from '../http/describe.ts';
import { LISTED_TYPES } from './publishedCatalogue.ts';

const price = z.strictObject({ usd: z.number().min(0), diem: z.number().min(0) }).meta({ id: 'Price' });
const rates = {
  ...{ input: price, output: price, cache_input: price },
  ...{ cache_write: price, cache_write_1h: price },
};
const byName = z.record(z.string(), price);
const word = z.string();
const words = z.array(word);
const whole = z.int().min(0);

const pricing = z
  .strictObject({
    ...rates,
    extended: z.strictObject({ context_token_threshold: whole, ...rates }).partial(),
    generation: price,
    resolutions: byName,
    quality: z.record(z.string(), z.strictObject({ low: price, medium: price, high: price }).partial()),
    upscale: z.strictObject({ '2x': price, '4x': price }),
    inpaint: price,
    inputImages: z.strictObject({ included: whole, additional: price }),
    per_audio_second: price,
    durations: z.record(
      z.string(),
      z.strictObject({
        usd: z.number().min(0),
        diem: z.number().min(0),
        min_seconds: z.number(),
        max_seconds: z.number(),
      }),
    ),
    per_second: price,
    per_thousand_characters: price,
  })
  .partial()
  .meta({
    id: 'ModelPricing',
    description:
      'By type: tokens and characters per million, audio and video per second, images and edits each, durations by the ' +
      'last second they cover.',
  });

const asDefault = z.strictObject({ default: z.number() });

const constraints = z
  .strictObject({
    temperature: asDefault,
    top_p: asDefault,
    frequency_penalty: asDefault,
    presence_penalty: asDefault,
    repetition_penalty: asDefault,
    aspectRatios: words,
    defaultAspectRatio: word,
    resolutions: words,
    defaultResolution: word,
    qualities: z.array(z.enum(['low', 'medium', 'high'])),
    defaultQuality: z.enum(['low', 'medium', 'high']),
    promptCharacterLimit: whole,
    steps: z.strictObject({ default: whole, max: whole }),
    widthHeightDivisor: whole,
    maxStyleReferences: whole,
    supportsStyleReferenceStrength: z.boolean(),
    combineImages: z.boolean(),
    maxInputImages: whole,
    singleImageAspectRatio: z.boolean(),
    model_type: z.enum(['text-to-video', 'image-to-video', 'video']),
    durations: words,
    aspect_ratios: words,
    audio: z.boolean(),
    audio_configurable: z.boolean(),
    audio_input: z.boolean(),
    per_reference_audio: z.boolean(),
    video_input: z.boolean(),
    prompt_character_limit: whole,
    reference_image_min_short_side_pixels: whole,
    reference_image_min_aspect_ratio: z.number(),
    reference_image_max_aspect_ratio: z.number(),
    topaz: z.looseObject({ models: words }).meta({ description: 'Of upscalers: what may be adjusted.' }),
  })
  .partial()
  .meta({ id: 'ModelConstraints' });

const flags = Object.fromEntries(CAPABILITY_FLAGS.map((flag) => [flag, z.boolean()] as const));

const capabilities = z
  .strictObject({
    ...flags,
    quantization: z.enum(['fp4', 'fp8', 'fp16', 'bf16', 'int8', 'int4', 'not-available']),
    reasoningEffortOptions: words,
    defaultReasoningEffort: word,
    maxImages: whole,
    maxVideos: whole,
    maxInputImages: whole,
  })
  .partial()
  .meta({ id: 'ModelCapabilities' });

const spec = z
  .looseObject({
    name: word,
    privacy: z.enum(['private', 'anonymized']),
    offline: z.boolean(),
    traits: words,
    description: word.optional(),
    modelSource: word.optional(),
    beta: z.boolean().optional(),
    betaModel: z.boolean().optional(),
    uncensored: z.boolean().optional(),
    regionRestrictions: words.optional(),
    model_sets: words.optional(),
    deprecation: z
      .strictObject({
        autoRemap: z.boolean(),
        date: word,
        removesAt: word,
        replacementModelId: word.optional(),
        startsAt: word.optional(),
      })
      .optional(),
    availableContextTokens: whole.optional(),
    maxCompletionTokens: whole.optional(),
    onDisconnect: z
      .enum(ON_DISCONNECT)
      .optional()
      .meta({
        description:
          'Of text models: what becomes of a stream whose client leaves. `abort`: it is closed, and what was received until ' +
          'then is billed. `drain`: it is read to its end and billed as a whole.',
      }),
    tokensPerSecond: z
      .int()
      .min(1)
      .optional()
      .meta({
        description:
          'Of text models that reason: bills a stream that is closed while the model reasons unseen, by its seconds. Left ' +
          'out: the measured rate of its last answers does.',
      }),
    capabilities: capabilities.optional(),
    constraints: constraints.optional(),
    pricing: pricing.optional(),
    voices: words.optional(),
    default_voice: word.optional(),
    supported_formats: words.optional(),
    default_format: word.optional(),
    voice_changer: z.boolean().optional(),
    accepted_audio_formats: words.optional(),
    max_source_audio_duration_seconds: z.number().optional(),
    supports_background_noise_removal: z.boolean().optional(),
    supports_seed: z.boolean().optional(),
    supports_custom_voice_id: z.boolean().optional(),
  })
  .meta({ id: 'ModelSpec', description: 'Further members by type.' });

export const modelEntry = z
  .strictObject({
    id: word,
    object: z.literal('model'),
    created: whole.meta({ description: 'Unix seconds.' }),
    owned_by: word,
    type: z.enum(MODEL_TYPES),
    context_length: whole.optional(),
    discount_to_user: z.number().gt(0).lt(1).optional(),
    model_spec: spec,
  })
  .meta({ id: 'Model' });

export const modelsAnswer = listOf(modelEntry).extend({ type: z.enum(LISTED_TYPES) });

/** Traits and the compatibility mapping: a name, and the id that it stands for. */
export const namesAnswer = z.strictObject({
  object: z.literal('list'),
  type: z.enum(MODEL_TYPES),
  data: z.record(z.string(), z.string()),
});

const character = z
  .strictObject({
    id: uuid,
    slug: word,
    name: word,
    description: word.nullable(),
    author: word,
    adult: z.boolean(),
    featured: z.boolean(),
    webEnabled: z.boolean(),
    modelId: word,
    tags: words,
    shareUrl: word.nullable(),
    photoUrl: word.nullable(),
    stats: z.strictObject({
      averageRating: z.number().min(0).max(5),
      imports: whole,
      ratingCount: whole,
      ratingSum: whole,
      userRating: z.number().nullable(),
    }),
    createdAt: isoTime,
    updatedAt: isoTime,
  })
  .meta({ id: 'Character' });

export const charactersAnswer = listOf(character);
export const characterAnswer = z.strictObject({ object: z.literal('character'), data: character });
export const reviewsAnswer = listOf(z.looseObject({})).extend({
  pagination: z.strictObject({ page: whole, pageSize: whole, total: whole, totalPages: whole }),
  summary: z.strictObject({ averageRating: z.number(), totalReviews: whole }),
});
