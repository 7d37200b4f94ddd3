/** Transcription and immediate speech without a key and without a network, by programs on this machine. */
import { type AsrModel, DEFAULT_CREATED, type TtsModel } from '../model.ts';
import { price } from './entry.ts';
import { LOCAL_SPEECH } from './offlineAudio.ts';

export const LOCAL_TRANSCRIBE = {
  kind: 'asr',
  id: 'local-transcribe',
  type: 'asr',
  provider: 'local',
  upstreamModel: 'pocketsphinx',
  privacy: 'private',
  name: 'Local Transcribe',
  description:
    'Transcribes on this machine; the recording is sent to nobody. It understands clear English speech only: of an accent, ' +
    'noise, music or several voices it makes other words. Lower case, no punctuation; at most 20 minutes.',
  modelSource: 'https://github.com/cmusphinx/pocketsphinx',
  created: DEFAULT_CREATED,
  spec: { pricing: { per_audio_second: price(0.00001) } },
} as const satisfies AsrModel;

export const LOCAL_SPEECH_SYNC = {
  kind: 'tts',
  id: 'local-speech-sync',
  type: 'tts',
  provider: 'local',
  upstreamModel: 'espeak-ng',
  privacy: 'private',
  name: 'Local Speech, at once',
  description:
    'Speaks the text on this machine, in many languages, with a plainly synthetic voice, while the client waits. The text ' +
    'is sent to nobody.',
  modelSource: LOCAL_SPEECH.modelSource,
  created: DEFAULT_CREATED,
  spec: {
    voices: LOCAL_SPEECH.spec.voices,
    default_voice: LOCAL_SPEECH.spec.default_voice,
    supported_formats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
    default_format: 'mp3',
    pricing: { input: price(1) },
  },
} as const satisfies TtsModel;

export const OFFLINE_SPEECH: readonly (AsrModel | TtsModel)[] = [LOCAL_TRANSCRIBE, LOCAL_SPEECH_SYNC];
