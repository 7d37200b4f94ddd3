/**
 * Music, sounds and long speech (api-facts 11). Their privacy is not published; `anonymized` is the side on which a key
 * that asks for private models is safe. What the models of ElevenLabs take is what its OpenAPI description and its page
 * "Models" say; the default durations are ours, since their price goes by the second.
 */
import { ELEVENLABS_VOICES } from '../elevenlabsVoices.ts';
import type { MusicModel } from '../model.ts';
import type { DurationPrices, MusicSpec } from '../specs.ts';
import { type BuiltInProvider, base, price } from './entry.ts';

/** `[from seconds, up to seconds, USD]`. */
type Tier = readonly [number, number, number];

function tiers(rows: readonly Tier[]): { durations: DurationPrices } {
  const entries = rows.map(([from, ceiling, amount]) => [
    String(ceiling),
    { ...price(amount), min_seconds: from, max_seconds: ceiling },
  ]);
  return { durations: Object.fromEntries(entries) };
}

interface Row extends MusicSpec {
  id: string;
  provider: BuiltInProvider;
  /** Default: the id. */
  upstreamModel?: string;
}

/** Of the models of ElevenLabs that speak: its default voices, and any other by its id. */
const ELEVENLABS_SPEECH = {
  voices: ELEVENLABS_VOICES,
  default_voice: 'Aria',
  supports_custom_voice_id: true,
  supported_formats: ['mp3'],
  default_format: 'mp3',
} as const;

const ROWS: readonly Row[] = [
  {
    id: 'ace-step-15',
    provider: 'fal',
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
    upstreamModel: 'eleven_multilingual_v2',
    ...ELEVENLABS_SPEECH,
    // It hears the language from the text and refuses an order that names one.
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
    // Its successors have published ids of their own.
    upstreamModel: 'music_v1',
    supports_force_instrumental: true,
    min_duration: 3,
    max_duration: 600,
    // The whole of the first price.
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
    upstreamModel: 'eleven_text_to_sound_v2',
    supports_loop: true,
    // The service goes down to half a second; orders are of whole ones.
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
    upstreamModel: 'eleven_v3',
    ...ELEVENLABS_SPEECH,
    supports_language_code: true,
    // It takes a speed without a word and speaks as before: its pace is told by tags in the text.
    supports_speed: false,
    prompt_character_limit: 5_000,
    pricing: { per_thousand_characters: price(0.115) },
  },
  { id: 'lyria-3-pro', provider: 'fal', pricing: { generation: price(0.1) } },
  { id: 'minimax-music-v2', provider: 'fal', pricing: { generation: price(0.04) } },
  { id: 'minimax-music-v25', provider: 'fal', pricing: { generation: price(0.18) } },
  { id: 'minimax-music-v26', provider: 'fal', pricing: { generation: price(0.18) } },
  { id: 'mmaudio-v2-text-to-audio', provider: 'fal', pricing: { per_second: price(0.00092) } },
  { id: 'seed-audio-1-0', provider: 'fal', pricing: { per_second: price(0.002875) } },
  { id: 'sonilo-v1-1-music', provider: 'fal', pricing: { per_second: price(0.002875) } },
  { id: 'sonilo-v1-1-sound-effects', provider: 'fal', pricing: { per_second: price(0.00207) } },
  { id: 'stable-audio-25', provider: 'fal', pricing: { generation: price(0.19) } },
];

export const MUSIC_MODELS: readonly MusicModel[] = ROWS.map(
  ({ id, provider, upstreamModel = id, ...spec }) => ({
    ...base({ id, provider, privacy: 'anonymized' }),
    kind: 'music',
    type: 'music',
    upstreamModel,
    spec,
  }),
);
