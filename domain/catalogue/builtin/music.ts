/**
 * Music, sounds and long speech (MODEL-5). Their privacy is not published; `anonymized` is the safe choice for keys
 * that require private models. Inputs of fal's models follow its endpoints (fal-ai/fal-js,
 * libs/client/src/types/endpoints.ts, and the pages of the models). Inputs of ElevenLabs follow its API description,
 * its page "Models" and public clients of the same models. Default durations of models priced by the second are ours.
 */
import { ELEVENLABS_VOICES } from '../elevenlabsVoices.ts';
import type { MusicModel } from '../model.ts';
import type { DurationPrices, MusicSpec } from '../specs.ts';
import { type BuiltInProvider, base, price } from './entry.ts';

/** `[from seconds, up to seconds, USD]`. */
type MusicTier = readonly [number, number, number];

function tiers(rows: readonly MusicTier[]): { durations: DurationPrices } {
  const entries = rows.map(([from, ceiling, amount]) => [
    String(ceiling),
    { ...price(amount), min_seconds: from, max_seconds: ceiling },
  ]);
  return { durations: Object.fromEntries(entries) };
}

interface MusicRow extends MusicSpec {
  id: string;
  provider: BuiltInProvider;
  offline?: boolean;
}

/** Voices of ElevenLabs speech models: the default ones, and any other by id. */
const ELEVENLABS_SPEECH = {
  voices: ELEVENLABS_VOICES,
  default_voice: 'Aria',
  supports_custom_voice_id: true,
  supported_formats: ['mp3'],
  default_format: 'mp3',
} as const;

const MP3 = { supported_formats: ['mp3'], default_format: 'mp3' } as const;
const MINIMAX_SONG = {
  supports_lyrics: true,
  lyrics_character_limit: 3_500,
  supports_force_instrumental: true,
  supports_lyrics_optimizer: true,
  prompt_character_limit: 2_000,
  ...MP3,
} as const;

const ROWS: readonly MusicRow[] = [
  {
    id: 'ace-step-15',
    // fal has only the first version of the model.
    provider: 'replicate',
    supports_lyrics: true,
    min_duration: 60,
    max_duration: 210,
    default_duration: 60,
    pricing: tiers([
      [60, 60, 0.03],
      [61, 90, 0.04],
      [91, 120, 0.05],
      [121, 150, 0.06],
      [151, 180, 0.07],
      [181, 210, 0.08],
    ]),
  },
  {
    id: 'elevenlabs-tts-multilingual-v2',
    provider: 'elevenlabs',
    ...ELEVENLABS_SPEECH,
    // The model detects the language from the text and refuses an order that names one.
    supports_language_code: false,
    supports_speed: true,
    min_speed: 0.7,
    max_speed: 1.2,
    default_speed: 1,
    prompt_character_limit: 10_000,
    pricing: { per_thousand_characters: price(0.115) },
  },
  {
    id: 'elevenlabs-music',
    provider: 'elevenlabs',
    // Its successors have their own published ids.
    supports_force_instrumental: true,
    min_duration: 3,
    max_duration: 600,
    // Full price of the first tier.
    default_duration: 60,
    prompt_character_limit: 4_100,
    supported_formats: ['mp3'],
    default_format: 'mp3',
    pricing: tiers([
      [3, 60, 0.69],
      [61, 120, 1.38],
      [121, 180, 2.08],
      [181, 240, 2.76],
      [241, 300, 3.45],
      [301, 360, 4.15],
      [361, 420, 4.84],
      [421, 480, 5.52],
      [481, 540, 6.22],
      [541, 600, 6.9],
    ]),
  },
  {
    id: 'elevenlabs-sound-effects-v2',
    provider: 'elevenlabs',
    supports_loop: true,
    // The service supports half a second; orders are in whole seconds.
    min_duration: 1,
    max_duration: 30,
    default_duration: 5,
    prompt_character_limit: 450,
    supported_formats: ['mp3'],
    default_format: 'mp3',
    pricing: { per_second: price(0.0023) },
  },
  {
    id: 'elevenlabs-tts-v3',
    provider: 'elevenlabs',
    ...ELEVENLABS_SPEECH,
    supports_language_code: true,
    // The model accepts a speed without effect: tags in the text set its pace.
    supports_speed: false,
    prompt_character_limit: 5_000,
    pricing: { per_thousand_characters: price(0.115) },
  },
  {
    id: 'lyria-3-pro',
    provider: 'fal',
    pricing: { generation: price(0.1) },
    ...MP3,
  },
  {
    id: 'minimax-music-v2',
    provider: 'fal',
    pricing: { generation: price(0.04) },
    supports_lyrics: true,
    lyrics_required: true,
    lyrics_character_limit: 3_000,
    min_prompt_length: 10,
    prompt_character_limit: 300,
    ...MP3,
  },
  {
    id: 'minimax-music-v25',
    provider: 'fal',
    pricing: { generation: price(0.18) },
    ...MINIMAX_SONG,
  },
  {
    id: 'minimax-music-v26',
    provider: 'fal',
    pricing: { generation: price(0.18) },
    ...MINIMAX_SONG,
  },
  {
    id: 'mmaudio-v2-text-to-audio',
    provider: 'fal',
    pricing: { per_second: price(0.00092) },
    min_duration: 1,
    max_duration: 30,
    default_duration: 8,
  },
  {
    id: 'seed-audio-1-0',
    provider: 'fal',
    // Priced by the second, but only the model decides the length.
    offline: true,
    pricing: { per_second: price(0.002875) },
    supports_custom_voice_id: true,
    supports_speed: true,
    default_speed: 1,
    min_speed: 0.5,
    max_speed: 2,
    ...MP3,
  },
  {
    id: 'sonilo-v1-1-music',
    provider: 'fal',
    pricing: { per_second: price(0.002875) },
    min_duration: 1,
    max_duration: 600,
    default_duration: 90,
  },
  {
    id: 'sonilo-v1-1-sound-effects',
    provider: 'fal',
    pricing: { per_second: price(0.00207) },
    min_duration: 1,
    max_duration: 180,
    default_duration: 8,
    ...MP3,
  },
  {
    id: 'stable-audio-25',
    provider: 'fal',
    pricing: { generation: price(0.19) },
    min_duration: 1,
    max_duration: 190,
    default_duration: 190,
    supported_formats: ['wav'],
    default_format: 'wav',
  },
];

export const MUSIC_MODELS: readonly MusicModel[] = ROWS.map(({ id, provider, offline, ...spec }) => ({
  ...base({ id, provider, privacy: 'anonymized' }),
  ...(offline === undefined ? {} : { listing: { offline } }),
  kind: 'music',
  type: 'music',
  spec,
}));
