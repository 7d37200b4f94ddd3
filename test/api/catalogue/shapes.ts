/** Shapes of model entries (MODEL-1), written independently of the product, with the published keys alone. */
import { z } from 'zod';

const price = z.strictObject({ usd: z.number().min(0), diem: z.number().min(0) });
const effort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);
const quality = z.enum(['low', 'medium', 'high']);
const strings = z.array(z.string());
const scale = z.strictObject({ '2x': price, '4x': price });
const perQuality = z.record(z.string(), z.strictObject({ low: price, medium: price, high: price }).partial());
const perResolution = z.record(z.string(), price);

const tokens = {
  ...{ input: price, output: price, cache_input: price.optional() },
  ...{ cache_write: price.optional(), cache_write_1h: price.optional() },
};
const extended = z.strictObject({ context_token_threshold: z.number(), ...tokens });

const tier = z.strictObject({
  usd: z.number(),
  diem: z.number(),
  min_seconds: z.number(),
  max_seconds: z.number(),
});

const flags = Object.fromEntries(
  [
    ...['optimizedForCode', 'supportsFunctionCalling', 'supportsAudioInput', 'supportsReasoning'],
    ...['supportsReasoningEffort', 'supportsResponseSchema', 'supportsMultipleImages', 'supportsVision'],
    ...['supportsVideoInput', 'supportsWebSearch', 'supportsLogProbs', 'supportsTeeAttestation'],
    ...['supportsE2EE', 'supportsXSearch'],
  ].map((flag) => [flag, z.boolean()]),
);

const capabilities = z.strictObject({
  ...flags,
  quantization: z.enum(['fp4', 'fp8', 'fp16', 'bf16', 'int8', 'int4', 'not-available']),
  reasoningEffortOptions: z.array(effort).optional(),
  defaultReasoningEffort: effort.optional(),
  maxImages: z.number().optional(),
  maxVideos: z.number().optional(),
});

const common = {
  name: z.string(),
  description: z.string().optional(),
  modelSource: z.string().optional(),
  privacy: z.enum(['private', 'anonymized']),
  offline: z.boolean(),
  traits: strings,
  beta: z.boolean().optional(),
  betaModel: z.boolean().optional(),
  uncensored: z.literal(true).optional(),
  regionRestrictions: strings.optional(),
  model_sets: strings.optional(),
  deprecation: z
    .strictObject({
      autoRemap: z.boolean(),
      date: z.string(),
      removesAt: z.string(),
      replacementModelId: z.string().optional(),
      startsAt: z.string().optional(),
    })
    .optional(),
};

const images = {
  aspectRatios: strings.optional(),
  resolutions: strings.optional(),
  defaultResolution: z.string().optional(),
  qualities: z.array(quality).optional(),
  defaultQuality: quality.optional(),
};

const entry = { id: z.string(), object: z.literal('model'), created: z.int(), owned_by: z.literal('acme') };

function of<Type extends string>(type: Type, spec: z.ZodRawShape) {
  return z.strictObject({
    ...entry,
    type: z.literal(type),
    discount_to_user: z.number().gt(0).lt(1).optional(),
    ...(type === 'text' ? { context_length: z.number() } : {}),
    model_spec: z.strictObject({ ...common, ...spec }),
  });
}

const voiceChanger = {
  voice_changer: z.literal(true),
  accepted_audio_formats: strings,
  max_source_audio_duration_seconds: z.number(),
  voices: strings,
  default_voice: z.string(),
  supports_custom_voice_id: z.boolean(),
  supports_background_noise_removal: z.boolean(),
  supports_seed: z.boolean(),
  pricing: z.strictObject({ durations: z.record(z.string().regex(/^[1-9]\d*$/), tier) }),
};

const musicMembers = z
  .strictObject({
    ...Object.fromEntries(
      [
        ...['supports_lyrics', 'lyrics_required', 'supports_force_instrumental', 'supports_lyrics_optimizer'],
        ...['supports_loop', 'supports_language_code', 'supports_speed', 'supports_custom_voice_id'],
      ].map((flag) => [flag, z.boolean()]),
    ),
    ...Object.fromEntries(
      [
        ...['default_speed', 'min_speed', 'max_speed', 'min_duration', 'max_duration', 'default_duration'],
        ...['prompt_character_limit', 'min_prompt_length', 'lyrics_character_limit'],
      ].map((limit) => [limit, z.number()]),
    ),
    voices: strings,
    default_voice: z.string(),
    duration_options: z.array(z.number()),
    supported_formats: strings,
    default_format: z.string(),
  })
  .partial().shape;

const music = {
  ...musicMembers,
  pricing: z.union([
    z.strictObject({ generation: price }),
    z.strictObject({ durations: z.record(z.string(), tier) }),
    z.strictObject({ per_second: price }),
    z.strictObject({ per_thousand_characters: price }),
  ]),
};

const video = z.strictObject({
  model_type: z.enum(['text-to-video', 'image-to-video', 'video']),
  aspect_ratios: strings,
  resolutions: strings,
  durations: strings,
  audio: z.boolean(),
  audio_configurable: z.boolean(),
  prompt_character_limit: z.number().optional(),
  audio_input: z.boolean().optional(),
  per_reference_audio: z.boolean().optional(),
  video_input: z.boolean().optional(),
  reference_image_min_short_side_pixels: z.number().optional(),
  reference_image_min_aspect_ratio: z.number().optional(),
  reference_image_max_aspect_ratio: z.number().optional(),
  topaz: z
    .strictObject({
      models: strings,
      sliders: strings.optional(),
      selects: strings.optional(),
      no_upscale_models: strings.optional(),
      h264_output: z.boolean().optional(),
      prompt: z.boolean().optional(),
    })
    .optional(),
});

export const modelEntry = z.union([
  of('text', {
    availableContextTokens: z.number(),
    maxCompletionTokens: z.int().min(1).optional(),
    onDisconnect: z.enum(['abort', 'drain']),
    tokensPerSecond: z.int().min(1).optional(),
    capabilities,
    pricing: z.strictObject({ ...tokens, extended: extended.optional() }),
  }),
  of('decision', {
    maxStateTokens: z.number(),
    maxTotalTokens: z.number(),
    pricing: z.strictObject({ ...tokens, extended: extended.optional() }),
  }),
  of('embedding', {
    embeddingDimensions: z.number().optional(),
    maxInputTokens: z.number().optional(),
    supportsCustomDimensions: z.boolean().optional(),
    pricing: z.strictObject({ input: price, output: price }),
  }),
  of('image', {
    constraints: z
      .strictObject({
        ...images,
        defaultAspectRatio: z.string().optional(),
        promptCharacterLimit: z.number(),
        widthHeightDivisor: z.number().optional(),
      })
      .optional(),
    pricing: z.strictObject({
      generation: price.optional(),
      resolutions: perResolution.optional(),
      quality: perQuality.optional(),
      // A simulator has no upscale price.
      upscale: scale.optional(),
    }),
  }),
  of('upscale', { pricing: z.strictObject({ generation: price, upscale: scale }) }),
  of('inpaint', {
    capabilities: z.strictObject({ maxInputImages: z.int() }).optional(),
    constraints: z
      .strictObject({
        ...images,
        promptCharacterLimit: z.number(),
        combineImages: z.boolean(),
        maxInputImages: z.int().gt(0).optional(),
        singleImageAspectRatio: z.boolean().optional(),
      })
      .optional(),
    // Four newer models have no published price and are offline.
    pricing: z
      .strictObject({
        inpaint: price,
        resolutions: perResolution.optional(),
        quality: perQuality.optional(),
        inputImages: z.strictObject({ included: z.int(), additional: price }).optional(),
      })
      .optional(),
  }),
  of('asr', { pricing: z.strictObject({ per_audio_second: price }) }),
  of('tts', {
    voices: strings.optional(),
    default_voice: z.string(),
    supported_formats: strings,
    default_format: z.string(),
    supports_custom_voice_id: z.boolean().optional(),
    voice_cloning: z
      .strictObject({
        mode: z.enum(['zero_shot', 'persistent']),
        accepted_formats: strings,
        min_sample_seconds: z.number(),
        retention_days: z.number(),
      })
      .optional(),
    pricing: z.strictObject({ input: price }),
  }),
  of('music', music),
  of('music', voiceChanger),
  of('video', { constraints: video.optional() }),
]);
