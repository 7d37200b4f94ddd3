/** A model entry: what is sold, by whom it is served, at which price (specification 2.6, api-facts 2.6). */
import type { Nano } from '../money.ts';

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

/** The containers a voice changer can accept, by the word used in `accepted_audio_formats`; `mp4` covers M4A. */
export const AUDIO_FORMATS = ['mp3', 'wav', 'ogg', 'flac', 'mp4', 'aac', 'webm'] as const;
export type AudioFormat = (typeof AUDIO_FORMATS)[number];

/** An amount per currency. Bundled credit is spent at the USD price. */
export interface Price {
  usd: Nano;
  diem: Nano;
}

/** One whole-minute tier: everything up to `ceilingSeconds` costs `price`. */
export interface DurationTier {
  ceilingSeconds: number;
  price: Price;
}

export interface VoiceChangerModel {
  kind: 'voice-changer';
  id: string;
  type: 'music';
  /** Name of the provider entry that serves it (configuration `providers`, or a built-in one). */
  provider: string;
  /** The provider's own name for the model. */
  upstreamModel: string;
  privacy: 'private' | 'anonymized';
  name: string;
  description: string;
  modelSource: string;
  /** Unix seconds. */
  created: number;
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

/** Grows by a member per kind of model; every `switch` over `kind` is then told by the compiler. */
export type Model = VoiceChangerModel;
