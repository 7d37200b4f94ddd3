/** Speech models (MODEL-5): synthesis per million characters, transcription per second of audio. */
import type { AsrModel, TtsModel } from '../model.ts';
import type { TtsSpec } from '../specs.ts';
import { type BuiltInProvider, base, price } from './entry.ts';

interface Voice extends Omit<TtsSpec, 'pricing' | 'supported_formats' | 'default_format'> {
  id: string;
  provider: BuiltInProvider;
  privacy: 'private' | 'anonymized';
  /** USD per million characters. */
  price: number;
  /** Voices, the default first. */
  formats: readonly [string, ...string[]];
  traits?: readonly string[];
}

const VOICES: readonly Voice[] = [
  {
    id: 'tts-chatterbox-hd',
    provider: 'fal',
    privacy: 'private',
    price: 50,
    default_voice: 'Aurora',
    formats: ['wav'],
    voice_cloning: {
      mode: 'zero_shot',
      accepted_formats: ['mp3', 'wav', 'flac', 'mp4'],
      min_sample_seconds: 5,
      retention_days: 7,
    },
  },
  {
    id: 'tts-elevenlabs-turbo-v2-5',
    provider: 'elevenlabs',
    privacy: 'anonymized',
    price: 62.5,
    default_voice: 'Rachel',
    formats: ['mp3'],
    supports_custom_voice_id: true,
  },
  {
    id: 'tts-gemini-3-1-flash',
    provider: 'fal',
    privacy: 'anonymized',
    price: 187.5,
    default_voice: 'Kore',
    formats: ['mp3', 'opus', 'wav'],
  },
  {
    id: 'tts-gradium-v1',
    provider: 'openai',
    privacy: 'anonymized',
    price: 47.5,
    default_voice: 'Emma',
    formats: ['wav', 'pcm', 'opus'],
  },
  {
    id: 'tts-inworld-1-5-max',
    provider: 'openai',
    privacy: 'anonymized',
    price: 12.5,
    default_voice: 'Craig',
    formats: ['wav'],
  },
  {
    id: 'tts-kokoro',
    provider: 'openai',
    privacy: 'private',
    price: 3.5,
    traits: ['default'],
    default_voice: 'af_sky',
    formats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
  },
  {
    id: 'tts-minimax-speech-02-hd',
    provider: 'fal',
    privacy: 'anonymized',
    price: 125,
    default_voice: 'WiseWoman',
    formats: ['mp3', 'pcm', 'flac'],
  },
  {
    id: 'tts-orpheus',
    provider: 'fal',
    privacy: 'private',
    price: 62.5,
    default_voice: 'tara',
    formats: ['wav'],
  },
  {
    id: 'tts-qwen3-0-6b',
    provider: 'openai',
    privacy: 'private',
    price: 87.5,
    default_voice: 'Vivian',
    formats: ['mp3'],
  },
  {
    id: 'tts-qwen3-1-7b',
    provider: 'openai',
    privacy: 'private',
    price: 112.5,
    default_voice: 'Vivian',
    formats: ['mp3'],
  },
  {
    id: 'tts-xai-v1',
    provider: 'fal',
    privacy: 'anonymized',
    price: 18.75,
    default_voice: 'eve',
    formats: ['mp3', 'wav', 'pcm'],
  },
];

export const TTS_MODELS: readonly TtsModel[] = VOICES.map(
  ({ id, provider, privacy, price: amount, formats, traits, ...spec }) => ({
    ...base({ id, provider, privacy, ...(traits && { traits }) }),
    kind: 'tts',
    type: 'tts',
    spec: {
      ...spec,
      supported_formats: formats,
      default_format: formats[0],
      pricing: { input: price(amount) },
    },
  }),
);

interface AsrRow {
  id: string;
  provider: BuiltInProvider;
  privacy: 'private' | 'anonymized';
  traits?: readonly string[];
  /** USD per second of audio. */
  price: number;
}

const TRANSCRIBERS: readonly AsrRow[] = [
  {
    id: 'elevenlabs/scribe-v2',
    provider: 'elevenlabs',
    privacy: 'anonymized',
    price: 0.000167,
  },
  {
    id: 'nvidia/parakeet-tdt-0.6b-v3',
    provider: 'openai',
    privacy: 'private',
    price: 0.0001,
    traits: ['default'],
  },
  { id: 'openai/whisper-large-v3', provider: 'openai', privacy: 'private', price: 0.0001 },
  { id: 'fal-ai/wizper', provider: 'fal', privacy: 'private', price: 0.0001 },
  { id: 'stt-xai-v1', provider: 'openai', privacy: 'anonymized', price: 0.00003148 },
];

export const ASR_MODELS: readonly AsrModel[] = TRANSCRIBERS.map(({ price: amount, ...identity }) => ({
  ...base(identity),
  kind: 'asr',
  type: 'asr',
  spec: { pricing: { per_audio_second: price(amount) } },
}));
