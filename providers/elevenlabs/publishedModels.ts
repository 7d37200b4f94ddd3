import type { PublishedModels } from '../../domain/providerKind.ts';

export const ELEVENLABS_MODELS: PublishedModels = {
  'elevenlabs-voice-changer': 'eleven_multilingual_sts_v2',
  'tts-elevenlabs-turbo-v2-5': 'eleven_turbo_v2_5',
  'elevenlabs/scribe-v2': 'scribe_v2',
  'elevenlabs-tts-multilingual-v2': 'eleven_multilingual_v2',
  // Its successors have their own published ids.
  'elevenlabs-music': 'music_v1',
  'elevenlabs-sound-effects-v2': 'eleven_text_to_sound_v2',
  'elevenlabs-tts-v3': 'eleven_v3',
};
