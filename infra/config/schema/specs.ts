/** `spec` by type of model, as `GET /models` shows it. Absent members are false or have their default. */
import { z } from 'zod';
import { AUDIO_FORMATS } from '../../../domain/catalogue/model.ts';
import { OMNI_REFERENCE_TASKS } from '../../../domain/generation/videoOrder.ts';
import { ON_DISCONNECT } from '../../../domain/providerSettings.ts';
import { DEFAULT_TOKENS_PER_SECOND } from '../../../domain/text/leftStream.ts';
import {
  asrPricing,
  embeddingPricing,
  imagePricing,
  inpaintPricing,
  musicPricing,
  tokenPricing,
  ttsPricing,
  upscalePricing,
  voiceChangerPricing,
} from './pricing.ts';
import { amount, count, modelId, strictObject, text } from './primitives.ts';

const flag = z.boolean().exactOptional();
const words = z.array(text(64)).max(256);
const optionalWords = words.exactOptional();
const optionalText = text(256).exactOptional();
const seconds = count(1, 86_400);
const quality = z.enum(['low', 'medium', 'high']);
const effort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);
const isoDate = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}(T[0-9:.]+Z)?$/, 'a date such as "2027-01-31" or "2027-01-31T00:00:00Z"');

const common = {
  name: text(200),
  description: text(4000).exactOptional(),
  modelSource: text(2048).exactOptional(),
  privacy: z.enum(['private', 'anonymized']).exactOptional(),
  offline: flag,
  beta: flag,
  betaModel: flag,
  uncensored: flag,
  traits: optionalWords,
  model_sets: optionalWords,
  regionRestrictions: optionalWords,
  deprecation: strictObject({
    autoRemap: z.boolean(),
    date: isoDate,
    removesAt: isoDate,
    replacementModelId: modelId.exactOptional(),
    startsAt: isoDate.exactOptional(),
  }).exactOptional(),
};

const tokens = count(1, 100_000_000);

const capabilities = strictObject({
  optimizedForCode: flag,
  supportsAudioInput: flag,
  supportsE2EE: flag,
  supportsFunctionCalling: flag,
  supportsLogProbs: flag,
  supportsMultipleImages: flag,
  supportsReasoning: flag,
  supportsReasoningEffort: flag,
  supportsResponseSchema: flag,
  supportsTeeAttestation: flag,
  supportsVideoInput: flag,
  supportsVision: flag,
  supportsWebSearch: flag,
  supportsXSearch: flag,
  quantization: z.enum(['fp4', 'fp8', 'fp16', 'bf16', 'int8', 'int4', 'not-available']).exactOptional(),
  reasoningEffortOptions: z.array(effort).max(7).exactOptional(),
  defaultReasoningEffort: effort.exactOptional(),
  maxImages: count(0, 1000).exactOptional(),
  maxVideos: count(0, 1000).exactOptional(),
});

const defaultNumber = strictObject({ default: z.number().min(-1000).max(1000) }).exactOptional();

export const textSpec = strictObject({
  ...common,
  availableContextTokens: tokens,
  maxCompletionTokens: tokens.exactOptional(),
  onDisconnect: z
    .enum(ON_DISCONNECT)
    .exactOptional()
    .describe("Fate of a stream whose client has left. Default: the provider entry's."),
  tokensPerSecond: count(1, 1_000_000)
    .exactOptional()
    .describe(
      'Bills a stream that is left while the model reasons unseen: seconds × this, at most what was held. Default: ' +
        `measured by the last answers of the model, ${DEFAULT_TOKENS_PER_SECOND} until there are enough.`,
    ),
  capabilities: capabilities.exactOptional(),
  constraints: strictObject({
    temperature: defaultNumber,
    top_p: defaultNumber,
    frequency_penalty: defaultNumber,
    presence_penalty: defaultNumber,
    repetition_penalty: defaultNumber,
  }).exactOptional(),
  pricing: tokenPricing,
});

export const decisionSpec = strictObject({
  ...common,
  maxStateTokens: tokens.exactOptional(),
  maxTotalTokens: tokens.exactOptional(),
  pricing: tokenPricing,
});

export const embeddingSpec = strictObject({
  ...common,
  embeddingDimensions: count(1, 100_000).exactOptional(),
  maxInputTokens: tokens.exactOptional(),
  supportsCustomDimensions: flag,
  pricing: embeddingPricing,
});

const resolutionChoice = {
  resolutions: optionalWords,
  defaultResolution: optionalText,
  qualities: z.array(quality).max(3).exactOptional(),
  defaultQuality: quality.exactOptional(),
};

export const imageSpec = strictObject({
  ...common,
  supportsStyleReferences: flag,
  supportsWebSearch: flag,
  supportsOptimizePromptThinking: flag,
  constraints: strictObject({
    promptCharacterLimit: count(1, 1_000_000).exactOptional(),
    steps: strictObject({ default: count(0, 1000), max: count(0, 1000) }).exactOptional(),
    widthHeightDivisor: count(1, 1024).exactOptional(),
    aspectRatios: optionalWords,
    defaultAspectRatio: optionalText,
    ...resolutionChoice,
    maxStyleReferences: count(0, 100).exactOptional(),
    supportsStyleReferenceStrength: flag,
  }).exactOptional(),
  pricing: imagePricing,
});

export const upscaleSpec = strictObject({ ...common, pricing: upscalePricing });

export const inpaintSpec = strictObject({
  ...common,
  capabilities: strictObject({ maxInputImages: count(1, 100).exactOptional() }).exactOptional(),
  constraints: strictObject({
    aspectRatios: optionalWords,
    promptCharacterLimit: count(1, 1_000_000).exactOptional(),
    combineImages: flag,
    maxInputImages: count(1, 100).exactOptional(),
    singleImageAspectRatio: flag,
    ...resolutionChoice,
  }).exactOptional(),
  pricing: inpaintPricing,
});

export const asrSpec = strictObject({ ...common, pricing: asrPricing });

export const ttsSpec = strictObject({
  ...common,
  voices: optionalWords,
  default_voice: optionalText,
  supported_formats: optionalWords,
  default_format: optionalText,
  supports_custom_voice_id: flag,
  voice_cloning: strictObject({
    mode: z.enum(['zero_shot', 'persistent']),
    accepted_formats: words,
    min_sample_seconds: z.number().min(0).max(3600),
    retention_days: z.number().min(0).max(36_500),
  }).exactOptional(),
  pricing: ttsPricing,
});

const speed = amount.max(100).exactOptional();

export const musicSpec = strictObject({
  ...common,
  voice_changer: z.literal(false).exactOptional(),
  supports_lyrics: flag,
  lyrics_required: flag,
  lyrics_character_limit: count(1, 1_000_000).exactOptional(),
  supports_force_instrumental: flag,
  supports_lyrics_optimizer: flag,
  supports_loop: flag,
  supports_language_code: flag,
  supports_speed: flag,
  default_speed: speed,
  min_speed: speed,
  max_speed: speed,
  voices: optionalWords,
  default_voice: optionalText,
  supports_custom_voice_id: flag,
  duration_options: z.array(seconds).max(256).exactOptional(),
  min_duration: seconds.exactOptional(),
  max_duration: seconds.exactOptional(),
  default_duration: seconds.exactOptional(),
  supported_formats: optionalWords,
  default_format: optionalText,
  prompt_character_limit: count(1, 1_000_000).exactOptional(),
  min_prompt_length: count(0, 1_000_000).exactOptional(),
  pricing: musicPricing,
});

export const voiceChangerSpec = strictObject({
  ...common,
  voice_changer: z.literal(true),
  accepted_audio_formats: z.array(z.enum(AUDIO_FORMATS)).min(1).max(AUDIO_FORMATS.length),
  max_source_audio_duration_seconds: count(1, 36_000),
  voices: z.array(text(60)).min(1).max(256).exactOptional(),
  default_voice: text(60),
  supports_custom_voice_id: flag,
  supports_background_noise_removal: flag,
  supports_seed: flag,
  pricing: voiceChangerPricing,
}).refine((spec) => spec.voices?.includes(spec.default_voice) ?? true, {
  path: ['default_voice'],
  error: 'one of the voices listed in "voices"',
});

export const videoSpec = strictObject({
  ...common,
  constraints: strictObject({
    model_type: z.enum(['text-to-video', 'image-to-video', 'video']),
    durations: words.min(1),
    resolutions: words,
    aspect_ratios: words,
    audio: flag,
    audio_configurable: flag,
    audio_input: flag,
    per_reference_audio: flag,
    video_input: flag,
    prompt_character_limit: count(1, 1_000_000).exactOptional(),
    reference_image_min_short_side_pixels: count(1, 100_000).exactOptional(),
    reference_image_min_aspect_ratio: amount.exactOptional(),
    reference_image_max_aspect_ratio: amount.exactOptional(),
    topaz: strictObject({
      models: words.min(1),
      sliders: optionalWords,
      selects: optionalWords,
      no_upscale_models: optionalWords,
      h264_output: flag,
      prompt: flag,
    }).exactOptional(),
  }),
});

const need = z.enum(['required', 'optional', 'none']).exactOptional();
const most = count(0, 100).exactOptional();

/** Inputs of a video model beyond its constraints. */
export const videoInputs = strictObject({
  prompt: need,
  image: need,
  video: need,
  endImage: need,
  negativePrompt: flag,
  referenceImages: most,
  referenceVideos: most,
  referenceAudios: most,
  referenceDocuments: most,
  sceneImages: most,
  elements: most,
  keyframes: most,
  referenceVideoSeconds: count(1, 3_600).exactOptional(),
  cameraTrajectory: flag,
  omniReferenceTasks: z.array(z.enum(OMNI_REFERENCE_TASKS)).max(4).exactOptional(),
  bitrateMode: flag,
  upscale: flag,
  consent: z.enum(['seedance']).exactOptional(),
  downloadLink: flag,
});
