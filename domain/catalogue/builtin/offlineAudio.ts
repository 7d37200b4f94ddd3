/** Local audio without key and network: a speech synthesiser on this machine, and a simulator's melody. */
import { DEFAULT_CREATED, type MusicModel } from '../model.ts';
import { price } from './entry.ts';

export const LOCAL_SPEECH = {
  kind: 'music',
  id: 'local-speech',
  type: 'music',
  provider: 'local',
  upstreamModel: 'espeak-ng',
  privacy: 'private',
  name: 'Local Speech',
  description:
    'Speaks the prompt on this machine, in many languages, with a plainly synthetic voice. The text is sent to nobody.',
  modelSource: 'https://github.com/espeak-ng/espeak-ng',
  created: DEFAULT_CREATED,
  spec: {
    // Voices, speeds and the longest prompt are those of providers/local; a test compares them.
    voices: ['narrator', 'deep', 'warm', 'clear', 'bright', 'child', 'machine', 'rough', 'whisper'],
    default_voice: 'narrator',
    supports_language_code: true,
    supports_speed: true,
    default_speed: 1,
    min_speed: 0.25,
    max_speed: 4,
    min_prompt_length: 1,
    prompt_character_limit: 10_000,
    supported_formats: ['mp3'],
    default_format: 'mp3',
    pricing: { per_thousand_characters: price(0.01) },
  },
} as const satisfies MusicModel;

export const SIMULATOR_MUSIC = {
  kind: 'music',
  id: 'simulator-music',
  type: 'music',
  provider: 'simulator',
  upstreamModel: 'simulator-music',
  privacy: 'private',
  name: 'Simulator: test melody',
  description:
    'For trying the API out: a deterministic test melody of the ordered length. No composer and no singer: the prompt and ' +
    'the lyrics only decide which notes are played.',
  modelSource: '',
  created: DEFAULT_CREATED,
  spec: {
    supports_lyrics: true,
    lyrics_character_limit: 4_096,
    supports_force_instrumental: true,
    supports_lyrics_optimizer: true,
    supports_loop: true,
    min_duration: 1,
    max_duration: 600,
    default_duration: 10,
    min_prompt_length: 1,
    prompt_character_limit: 4_096,
    supported_formats: ['wav'],
    default_format: 'wav',
    pricing: { per_second: price(0.0001) },
  },
} as const satisfies MusicModel;

export const OFFLINE_AUDIO: readonly MusicModel[] = [LOCAL_SPEECH, SIMULATOR_MUSIC];
