/** Input names of the models for cutouts, upscaling, transcription and speech. Source: as in imageModels.ts. */
import { languageName } from '../../shared/languageNames.ts';
import type { Enlargement, SpeechOrder, TranscriptionOrder } from '../../shared/mediaProvider.ts';
import { definedFields, type Fields } from '../../shared/textFailures.ts';
import type { SentMedium } from '../mediaInputs.ts';

function rowOf<Row>(rows: Readonly<Record<string, Row>>, name: string): Row | undefined {
  return Object.hasOwn(rows, name) ? rows[name] : undefined;
}

const CUTTERS: Readonly<Record<string, Fields>> = {
  '851-labs/background-remover': { format: 'png', background_type: 'rgba' },
};

export function cutoutInput(name: string, file: SentMedium): Fields {
  return { image: file, ...rowOf(CUTTERS, name) };
}

type UpscaleWriter = (order: Pick<Enlargement, 'scale' | 'creativity'>) => Fields;

/** Rounds down to a supported factor. */
const whole = (scale: number, steps: readonly [number, ...number[]]) =>
  steps.reduce((best, each) => (each <= scale ? each : best), steps[0]);

const ENLARGERS: Readonly<Record<string, UpscaleWriter>> = {
  'google/upscaler': ({ scale }) => ({ upscale_factor: `x${whole(scale, [2, 4])}` }),
  'nightmareai/real-esrgan': ({ scale }) => ({ scale }),
  'philz1337x/clarity-upscaler': ({ scale, creativity }) => ({
    scale_factor: scale,
    creativity,
    output_format: 'png',
  }),
  'recraft-ai/recraft-crisp-upscale': () => ({}),
  'topazlabs/image-upscale': ({ scale }) => ({
    upscale_factor: `${whole(scale, [2, 4, 6])}x`,
    output_format: 'png',
  }),
};

export function enlargeInput(name: string, order: Pick<Enlargement, 'scale' | 'creativity'>, file: SentMedium): Fields {
  const enlarge = rowOf(ENLARGERS, name) ?? (({ scale }) => ({ scale }));
  return { image: file, ...enlarge(order) };
}

interface ReplicateTranscriber {
  write: (order: Pick<TranscriptionOrder, 'language' | 'timestamps'>, file: SentMedium) => Fields;
  chunks: 'words' | 'segments';
}

const TRANSCRIBERS: Readonly<Record<string, ReplicateTranscriber>> = {
  'openai/gpt-4o-mini-transcribe': {
    write: ({ language }, audio_file) => ({ audio_file, ...(language !== undefined && { language }) }),
    chunks: 'segments',
  },
  'openai/gpt-4o-transcribe': {
    write: ({ language }, audio_file) => ({ audio_file, ...(language !== undefined && { language }) }),
    chunks: 'segments',
  },
  'openai/whisper': {
    write: ({ language = 'auto' }, audio) => ({
      audio,
      language,
      transcription: 'plain text',
      translate: false,
    }),
    chunks: 'segments',
  },
  'vaibhavs10/incredibly-fast-whisper': {
    write: ({ language, timestamps }, audio) => ({
      audio,
      task: 'transcribe',
      language: languageName(language)?.toLowerCase() ?? 'None',
      timestamp: timestamps ? 'word' : 'chunk',
    }),
    chunks: 'words',
  },
  'victor-upmeet/whisperx': {
    write: ({ language, timestamps }, audio_file) => ({
      audio_file,
      ...(language !== undefined && { language }),
      align_output: timestamps,
    }),
    chunks: 'segments',
  },
};
const TRANSCRIBER: ReplicateTranscriber = {
  write: ({ language }, audio) => ({ audio, ...(language !== undefined && { language }) }),
  chunks: 'segments',
};

export function transcriberOf(name: string): ReplicateTranscriber {
  return rowOf(TRANSCRIBERS, name) ?? TRANSCRIBER;
}

type SpeechWriter = (order: SpeechOrder) => Fields;

/** Requests PCM at 24,000 samples per second, as OpenAI delivers it. */
const minimax: SpeechWriter = ({ text, voice, speed, format, language }) => ({
  text,
  voice_id: voice && (/^[A-Za-z]+$/.test(voice) ? voice.replace(/(?<=[a-z])(?=[A-Z])/g, '_') : voice),
  speed: Math.min(2, Math.max(0.5, speed)),
  audio_format: format,
  ...(format === 'pcm' && { sample_rate: 24_000 }),
  language_boost: languageName(language) ?? 'Automatic',
});

const SPEAKERS: Readonly<Record<string, SpeechWriter>> = {
  'jaaari/kokoro-82m': ({ text, voice, speed }) => ({ text, voice, speed }),
  'lucataco/orpheus-3b-0.1-ft': ({ text, voice, temperature, topP }) => ({
    text,
    voice,
    temperature,
    top_p: topP,
  }),
  'minimax/speech-02-hd': minimax,
  'minimax/speech-02-turbo': minimax,
  'minimax/speech-2.6-hd': minimax,
  'minimax/speech-2.6-turbo': minimax,
  'minimax/speech-2.8-hd': minimax,
  'minimax/speech-2.8-turbo': minimax,
  'resemble-ai/chatterbox': ({ text, temperature }) => ({ prompt: text, temperature }),
  'resemble-ai/chatterbox-turbo': ({ text, voice, temperature, topP }) => ({
    text,
    voice,
    temperature,
    top_p: topP,
  }),
};
const speaker: SpeechWriter = ({ text, voice, speed }) => ({ text, voice, ...(speed !== 1 && { speed }) });

export function speechInput(name: string, order: SpeechOrder): Fields {
  const input = (rowOf(SPEAKERS, name) ?? speaker)(order);
  return definedFields(input);
}
