/** Model entry: product, provider and price (MODEL-1). */
import type { Evaluation } from '../decisions/evaluation.ts';
import type { OmniReferenceTask } from '../generation/videoOrder.ts';
import { type Nano, nanoFromNumber } from '../money.ts';
import type {
  AsrSpec,
  ByResolution,
  DecisionSpec,
  EmbeddingSpec,
  ImageSpec,
  InpaintSpec,
  Listing,
  MediaTokenRates,
  MusicSpec,
  PublishedPrice,
  TextSpec,
  TtsSpec,
  UpscaleSpec,
  VideoSpec,
} from './specs.ts';

export const MODEL_TYPES = [
  'asr',
  'decision',
  'embedding',
  'image',
  'music',
  'text',
  'tts',
  'upscale',
  'inpaint',
  'video',
] as const;
export type ModelType = (typeof MODEL_TYPES)[number];

/** Containers that a voice changer can accept, named as in `accepted_audio_formats`; `mp4` covers M4A. */
export const AUDIO_FORMATS = ['mp3', 'wav', 'ogg', 'flac', 'mp4', 'aac', 'webm'] as const;
export type AudioFormat = (typeof AUDIO_FORMATS)[number];

/** An amount per currency. Bundled credit is spent at the USD price. */
export interface Price {
  readonly usd: Nano;
  readonly diem: Nano;
}

/** One whole-minute tier: everything up to `ceilingSeconds` costs `price`. */
export interface DurationTier {
  ceilingSeconds: number;
  price: Price;
}

/** Published price in nano units. Throws RangeError for a price with finer fractions, which the schema refuses. */
export function priceOf(published: PublishedPrice): Price {
  const known = prices.get(published);
  if (known) return known;
  const price = { usd: toNano(published.usd), diem: toNano(published.diem) };
  prices.set(published, price);
  return price;
}

/** Cached: every request needs a dozen prices of constant entries, and parsing decimals is slow (bench `chat`). */
const prices = new WeakMap<PublishedPrice, Price>();

function toNano(units: number): Nano {
  const nano = nanoFromNumber(units);
  if (nano === undefined) throw new RangeError(`not an amount: ${units}`);
  return nano;
}

/** 2026-01-01 in Unix seconds: date of entries without one. */
export const DEFAULT_CREATED = 1_767_225_600;

export interface ModelBase {
  id: string;
  /** Name of the provider entry that serves it (configuration `providers`, or a built-in one). */
  provider: string;
  /** Name of the model at the provider. Absent: no provider is known to serve it, and it is offline. */
  upstreamModel?: string;
  privacy: 'private' | 'anonymized';
  name: string;
  /** Empty when there is none. */
  description: string;
  /** Empty when there is none. */
  modelSource: string;
  /** Unix seconds. */
  created: number;
  /** Aliases that requests may use, shown by the compatibility mapping. */
  aliases?: readonly string[];
  discountToUser?: number;
  listing?: Listing;
}

/** Name of a model in calls of its provider. Throws for a model without one: it is offline, so nothing calls it. */
export function upstreamNameOf({ id, upstreamModel }: Pick<ModelBase, 'id' | 'upstreamModel'>): string {
  if (upstreamModel === undefined) throw new Error(`no provider is known to serve ${id}`);
  return upstreamModel;
}

/** Size classes (LIMIT-1): they decide the request and token limits of text and embedding models. */
export const MODEL_SIZES = ['XS', 'S', 'M', 'L'] as const;
export type ModelSize = (typeof MODEL_SIZES)[number];

/** A model whose `spec` says everything about it; `kind` is its type. */
interface PlainModel<Type extends ModelType, Spec> extends ModelBase {
  kind: Type;
  type: Type;
  spec: Spec;
}

export interface TextModel extends PlainModel<'text', TextSpec> {
  size?: ModelSize;
  /** Not published. An absent rate has its default, which is high. */
  mediaTokens?: Partial<MediaTokenRates>;
}
export interface EmbeddingModel extends PlainModel<'embedding', EmbeddingSpec> {
  size?: ModelSize;
}
export interface DecisionModel extends PlainModel<'decision', DecisionSpec> {
  /** Absent members have their defaults. */
  evaluation?: Partial<Evaluation>;
}
export interface ImageModel extends PlainModel<'image', ImageSpec> {
  /**
   * Default: it generates pictures from prompts. `cutout`: it removes the background, but is published as an image
   * model.
   */
  imageUse?: 'cutout';
}
export type InpaintModel = PlainModel<'inpaint', InpaintSpec>;
export type UpscaleModel = PlainModel<'upscale', UpscaleSpec>;
export type AsrModel = PlainModel<'asr', AsrSpec>;
export type TtsModel = PlainModel<'tts', TtsSpec>;
export type MusicModel = PlainModel<'music', MusicSpec>;
export interface VideoModel extends PlainModel<'video', VideoSpec> {
  /** Shown by the quote route only. Without one the model is offline: it has no published price. */
  price?: VideoPrice;
  /** Inputs beyond the constraints; not published. */
  inputs?: VideoInputs;
}

/**
 * Exactly one unit. `perSecond` and `perGeneration` are keyed by the resolution of the request, where `any` stands for
 * all others; `perOutputSecond` by the height of the output in pixels, up to and including the key.
 */
export interface VideoPrice {
  readonly perSecond?: ByResolution;
  readonly perGeneration?: ByResolution;
  readonly perOutputSecond?: ByResolution;
  /** Prices for orders without a sound track. */
  readonly silent?: ByResolution;
  /** For `perOutputSecond`: above this frame rate the price is multiplied. */
  readonly highFrameRate?: { readonly above: number; readonly factor: number };
}

/** Fields of an order that a video model accepts (VIDEO-2); it refuses absent ones. */
export interface VideoInputs {
  /** Default: required, except of upscalers, which have none. */
  readonly prompt?: 'required' | 'optional' | 'none';
  /** Default: required for `image-to-video`, none otherwise. */
  readonly image?: 'required' | 'optional' | 'none';
  /** Default: required for `video`, none otherwise. */
  readonly video?: 'required' | 'optional' | 'none';
  readonly endImage?: 'required' | 'optional' | 'none';
  readonly negativePrompt?: boolean;
  /** Largest number of each; default 0. */
  readonly referenceImages?: number;
  readonly referenceVideos?: number;
  readonly referenceAudios?: number;
  readonly referenceDocuments?: number;
  readonly sceneImages?: number;
  readonly elements?: number;
  readonly keyframes?: number;
  /** Longest total length of the reference videos, in seconds. */
  readonly referenceVideoSeconds?: number;
  readonly cameraTrajectory?: boolean;
  readonly omniReferenceTasks?: readonly OmniReferenceTask[];
  readonly bitrateMode?: boolean;
  /** Upscaler: it accepts `upscale_factor` and the like, and no resolution. */
  readonly upscale?: boolean;
  /** Service whose terms a person must accept before faces may be sent. */
  readonly consent?: 'seedance';
  /** True: the output is fetched by its own link (`download_url`) and is not sent by retrieve. */
  readonly downloadLink?: boolean;
}

export interface VoiceChangerModel extends ModelBase {
  kind: 'voice-changer';
  type: 'music';
  acceptedAudioFormats: readonly AudioFormat[];
  maxSourceAudioDurationSeconds: number;
  voices: readonly string[];
  defaultVoice: string;
  supportsCustomVoiceId: boolean;
  supportsBackgroundNoiseRemoval: boolean;
  supportsSeed: boolean;
  /** Ascending by ceiling; a source longer than the last tier is refused as too long. */
  durations: readonly DurationTier[];
  /** Shown as `average_execution_time` until there are measured executions. */
  defaultExecutionMs: number;
}

/** Discriminated by `kind`, which equals the type except for voice changers (type `music`, with rules of their own). */
export type Model =
  | TextModel
  | EmbeddingModel
  | DecisionModel
  | ImageModel
  | InpaintModel
  | UpscaleModel
  | AsrModel
  | TtsModel
  | MusicModel
  | VideoModel
  | VoiceChangerModel;
export type ModelKind = Model['kind'];
