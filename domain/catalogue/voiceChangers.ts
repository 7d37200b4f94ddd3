/** Built-in voice changers (MODEL-14). A hosted one is offline while its provider has no key. */
import { NANO_PER_UNIT } from '../money.ts';
import { ELEVENLABS_VOICES } from './elevenlabsVoices.ts';
import { DEFAULT_CREATED, type DurationTier, type VoiceChangerModel } from './model.ts';

/** Whole-minute tiers 1…`minutes`, each a multiple of the price of a minute; diem costs the same number as USD. */
function minuteTiers(minutes: number, centsPerMinute: bigint): DurationTier[] {
  return Array.from({ length: minutes }, (_, index) => {
    const amount = (BigInt(index + 1) * centsPerMinute * NANO_PER_UNIT) / 100n;
    return { ceilingSeconds: (index + 1) * 60, price: { usd: amount, diem: amount } };
  });
}

export const LOCAL_VOICE_CHANGER = {
  kind: 'voice-changer',
  id: 'local-voice-changer',
  type: 'music',
  provider: 'local',
  upstreamModel: 'ffmpeg-voice',
  privacy: 'private',
  name: 'Local Voice Changer',
  description: 'Changes pitch and timbre of a recording on this machine. The recording is sent to nobody.',
  modelSource: 'https://ffmpeg.org',
  created: DEFAULT_CREATED,
  acceptedAudioFormats: ['mp3', 'wav', 'ogg', 'flac', 'mp4', 'aac', 'webm'],
  maxSourceAudioDurationSeconds: 600,
  // Names of providers/local; a test compares the two lists.
  voices: ['bass', 'baritone', 'tenor', 'alto', 'soprano', 'child', 'giant', 'robot'],
  defaultVoice: 'alto',
  supportsCustomVoiceId: false,
  supportsBackgroundNoiseRemoval: true,
  supportsSeed: true,
  durations: minuteTiers(10, 5n),
  defaultExecutionMs: 3_000,
} as const satisfies VoiceChangerModel;

export const ELEVENLABS_VOICE_CHANGER = {
  kind: 'voice-changer',
  id: 'elevenlabs-voice-changer',
  type: 'music',
  provider: 'elevenlabs',
  privacy: 'anonymized',
  name: 'ElevenLabs Voice Changer',
  description: 'Speaks a recording again in another voice and keeps its timing, emotion and delivery.',
  modelSource: 'https://elevenlabs.io/docs/capabilities/voice-changer',
  created: DEFAULT_CREATED,
  acceptedAudioFormats: ['mp3', 'wav', 'ogg', 'mp4', 'aac'],
  maxSourceAudioDurationSeconds: 300,
  voices: ELEVENLABS_VOICES,
  defaultVoice: 'Aria',
  supportsCustomVoiceId: true,
  supportsBackgroundNoiseRemoval: true,
  supportsSeed: true,
  // One public price point: 0.35 USD for the first minute. The service bills by the minute of audio, so the longer
  // tiers are multiples of it.
  durations: minuteTiers(5, 35n),
  defaultExecutionMs: 20_000,
} as const satisfies VoiceChangerModel;

export const VOICE_CHANGERS: readonly VoiceChangerModel[] = [LOCAL_VOICE_CHANGER, ELEVENLABS_VOICE_CHANGER];
