/**
 * Contents of a model entry, named as in `GET /models` (MODEL-1). The schema of the configuration file in infra/config
 * produces exactly these; prices are whole units, exact to nine decimals.
 */
import type { OnDisconnect } from '../providerSettings.ts';

/** Price of one unit, per currency. */
export interface PublishedPrice {
  readonly usd: number;
  readonly diem: number;
}

/** Upper bounds of the tokens that a service counts for the media of a prompt. */
export interface MediaTokenRates {
  /** Pixels per token of a picture, within the two bounds. */
  readonly pixelsPerToken: number;
  readonly minPerImage: number;
  readonly maxPerImage: number;
  /** For the frames of a video; its sound counts separately. */
  readonly perVideoSecond: number;
  readonly perAudioSecond: number;
}

export interface Deprecation {
  readonly autoRemap: boolean;
  /** ISO date or time: when the announcement takes effect. */
  readonly date: string;
  readonly removesAt: string;
  readonly replacementModelId?: string;
  readonly startsAt?: string;
}

/** Members of every type's `model_spec` beside name, description, source and privacy. */
export interface Listing {
  /** True keeps the model offline, whatever its provider reports. */
  readonly offline?: boolean;
  readonly beta?: boolean;
  readonly betaModel?: boolean;
  readonly uncensored?: boolean;
  readonly traits?: readonly string[];
  readonly model_sets?: readonly string[];
  readonly regionRestrictions?: readonly string[];
  readonly deprecation?: Deprecation;
}

export type Quality = 'low' | 'medium' | 'high';
export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export interface TokenRates {
  readonly input: PublishedPrice;
  readonly output: PublishedPrice;
  readonly cache_input?: PublishedPrice;
  /** For the shortest retention of a cached prompt; five minutes at Anthropic. */
  readonly cache_write?: PublishedPrice;
  /** For an hour. Default: as `cache_write`. */
  readonly cache_write_1h?: PublishedPrice;
}

/** Per million tokens; above the threshold the extended rate covers the whole request. */
export interface TokenPricing extends TokenRates {
  readonly extended?: TokenRates & { readonly context_token_threshold: number };
}

/** Boolean capabilities of a text model; absent ones are false. */
export const CAPABILITY_FLAGS = [
  'optimizedForCode',
  'supportsAudioInput',
  'supportsE2EE',
  'supportsFunctionCalling',
  'supportsLogProbs',
  'supportsMultipleImages',
  'supportsReasoning',
  'supportsReasoningEffort',
  'supportsResponseSchema',
  'supportsTeeAttestation',
  'supportsVideoInput',
  'supportsVision',
  'supportsWebSearch',
  'supportsXSearch',
] as const;
export type CapabilityFlag = (typeof CAPABILITY_FLAGS)[number];

export type Capabilities = { readonly [Flag in CapabilityFlag]?: boolean } & {
  readonly quantization?: 'fp4' | 'fp8' | 'fp16' | 'bf16' | 'int8' | 'int4' | 'not-available';
  readonly reasoningEffortOptions?: readonly ReasoningEffort[];
  readonly defaultReasoningEffort?: ReasoningEffort;
  readonly maxImages?: number;
  readonly maxVideos?: number;
};

interface DefaultNumber {
  readonly default: number;
}

export interface TextSpec {
  readonly availableContextTokens: number;
  readonly maxCompletionTokens?: number;
  /** Default: that of the provider entry. */
  readonly onDisconnect?: OnDisconnect;
  /**
   * Reasoning tokens per second, for the bill of an abandoned stream whose model reasons without showing it. Default:
   * as measured by its last answers.
   */
  readonly tokensPerSecond?: number;
  readonly capabilities?: Capabilities;
  readonly constraints?: {
    readonly temperature?: DefaultNumber;
    readonly top_p?: DefaultNumber;
    readonly frequency_penalty?: DefaultNumber;
    readonly presence_penalty?: DefaultNumber;
    readonly repetition_penalty?: DefaultNumber;
  };
  readonly pricing: TokenPricing;
}

export interface DecisionSpec {
  readonly maxStateTokens?: number;
  readonly maxTotalTokens?: number;
  readonly pricing: TokenPricing;
}

export interface EmbeddingSpec {
  readonly embeddingDimensions?: number;
  readonly maxInputTokens?: number;
  readonly supportsCustomDimensions?: boolean;
  /** Per million tokens; output tokens are never charged. */
  readonly pricing: { readonly input: PublishedPrice; readonly output?: PublishedPrice };
}

export type ByResolution = Readonly<Record<string, PublishedPrice>>;
export type ByQuality = Readonly<Record<string, { readonly [Q in Quality]?: PublishedPrice }>>;

interface ResolutionChoice {
  readonly aspectRatios?: readonly string[];
  readonly promptCharacterLimit?: number;
  readonly resolutions?: readonly string[];
  readonly defaultResolution?: string;
  readonly qualities?: readonly Quality[];
  readonly defaultQuality?: Quality;
}

interface UpscaleFactors {
  readonly '2x': PublishedPrice;
  readonly '4x': PublishedPrice;
}

export interface ImageSpec {
  readonly supportsStyleReferences?: boolean;
  readonly supportsWebSearch?: boolean;
  readonly supportsOptimizePromptThinking?: boolean;
  readonly constraints?: ResolutionChoice & {
    readonly steps?: { readonly default: number; readonly max: number };
    readonly widthHeightDivisor?: number;
    readonly defaultAspectRatio?: string;
    readonly maxStyleReferences?: number;
    readonly supportsStyleReferenceStrength?: boolean;
  };
  /** Per image: exactly one of `generation` and `resolutions`. */
  readonly pricing: {
    readonly generation?: PublishedPrice;
    readonly resolutions?: ByResolution;
    readonly quality?: ByQuality;
    readonly upscale?: UpscaleFactors;
  };
}

export interface UpscaleSpec {
  readonly pricing: { readonly generation?: PublishedPrice; readonly upscale: UpscaleFactors };
}

export interface InpaintSpec {
  readonly capabilities?: { readonly maxInputImages?: number };
  readonly constraints?: ResolutionChoice & {
    readonly combineImages?: boolean;
    readonly maxInputImages?: number;
    readonly singleImageAspectRatio?: boolean;
  };
  /** Per edit. Without it the model is offline: it has no published price. */
  readonly pricing?: {
    readonly inpaint: PublishedPrice;
    readonly resolutions?: ByResolution;
    readonly quality?: ByQuality;
    readonly inputImages?: { readonly included: number; readonly additional: PublishedPrice };
  };
}

export interface AsrSpec {
  readonly pricing: { readonly per_audio_second: PublishedPrice };
}

export interface TtsSpec {
  readonly voices?: readonly string[];
  readonly default_voice?: string;
  readonly supported_formats?: readonly string[];
  readonly default_format?: string;
  readonly supports_custom_voice_id?: boolean;
  readonly voice_cloning?: {
    readonly mode: 'zero_shot' | 'persistent';
    readonly accepted_formats: readonly string[];
    readonly min_sample_seconds: number;
    readonly retention_days: number;
  };
  /** Per million characters. */
  readonly pricing: { readonly input: PublishedPrice };
}

/** Price for all lengths up to a number of seconds, which is its key. */
export type DurationPrices = Readonly<
  Record<string, PublishedPrice & { readonly min_seconds?: number; readonly max_seconds?: number }>
>;

export interface MusicSpec {
  readonly supports_lyrics?: boolean;
  readonly lyrics_required?: boolean;
  readonly lyrics_character_limit?: number;
  readonly supports_force_instrumental?: boolean;
  readonly supports_lyrics_optimizer?: boolean;
  readonly supports_loop?: boolean;
  readonly supports_language_code?: boolean;
  readonly supports_speed?: boolean;
  readonly default_speed?: number;
  readonly min_speed?: number;
  readonly max_speed?: number;
  readonly voices?: readonly string[];
  readonly default_voice?: string;
  readonly supports_custom_voice_id?: boolean;
  readonly duration_options?: readonly number[];
  readonly min_duration?: number;
  readonly max_duration?: number;
  readonly default_duration?: number;
  readonly supported_formats?: readonly string[];
  readonly default_format?: string;
  readonly prompt_character_limit?: number;
  readonly min_prompt_length?: number;
  /** Exactly one of them. */
  readonly pricing: {
    readonly generation?: PublishedPrice;
    readonly durations?: DurationPrices;
    readonly per_second?: PublishedPrice;
    readonly per_thousand_characters?: PublishedPrice;
  };
}

export interface VideoSpec {
  readonly constraints?: {
    readonly model_type: 'text-to-video' | 'image-to-video' | 'video';
    readonly durations: readonly string[];
    readonly resolutions: readonly string[];
    readonly aspect_ratios: readonly string[];
    readonly audio?: boolean;
    readonly audio_configurable?: boolean;
    readonly audio_input?: boolean;
    readonly per_reference_audio?: boolean;
    readonly video_input?: boolean;
    readonly prompt_character_limit?: number;
    readonly reference_image_min_short_side_pixels?: number;
    readonly reference_image_min_aspect_ratio?: number;
    readonly reference_image_max_aspect_ratio?: number;
    /** For upscalers. */
    readonly topaz?: {
      readonly models: readonly string[];
      readonly sliders?: readonly string[];
      readonly selects?: readonly string[];
      readonly no_upscale_models?: readonly string[];
      readonly h264_output?: boolean;
      readonly prompt?: boolean;
    };
  };
}
