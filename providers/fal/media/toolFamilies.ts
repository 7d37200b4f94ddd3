/** Parameters of fal's models for cutouts, upscaling and transcription. Source: as in imageFamilies.ts. */
import type { Enlargement, TranscriptionOrder } from '../../shared/mediaProvider.ts';
import { longestPrefixRow } from '../service.ts';

type FixedFields = Readonly<Record<string, string | number | boolean>>;

const CUTTERS: Readonly<Record<string, FixedFields>> = { 'fal-ai/birefnet': { output_format: 'png' } };

export function cutoutInput(endpoint: string, url: string): Record<string, unknown> {
  return { image_url: url, ...longestPrefixRow(CUTTERS, endpoint) };
}

interface Enlarger {
  /** Null: the factor is fixed. */
  scale: 'upscale_factor' | 'scale' | 'scale_factor' | null;
  mostScale: number;
  /** Whether the model takes `creativity` from 0 to 1. */
  creative?: true;
  fixed?: FixedFields;
}

const ENLARGERS: Readonly<Record<string, Enlarger>> = {
  'clarityai/crystal-upscaler': { scale: 'scale_factor', mostScale: 4 },
  'fal-ai/clarity-upscaler': { scale: 'upscale_factor', mostScale: 4, creative: true },
  'fal-ai/creative-upscaler': { scale: 'scale', mostScale: 4, creative: true },
  'fal-ai/esrgan': { scale: 'scale', mostScale: 8, fixed: { output_format: 'png' } },
  'fal-ai/ideogram/upscale': { scale: null, mostScale: 4 },
  'fal-ai/recraft/upscale': { scale: null, mostScale: 4 },
  'fal-ai/seedvr/upscale/image': {
    scale: 'upscale_factor',
    mostScale: 10,
    fixed: { upscale_mode: 'factor', output_format: 'png' },
  },
  'fal-ai/topaz/upscale/image': { scale: 'upscale_factor', mostScale: 4, fixed: { output_format: 'png' } },
};
const ENLARGER: Enlarger = { scale: 'upscale_factor', mostScale: 4 };

export function enlargeInput(
  { upstreamModel, scale, creativity }: Pick<Enlargement, 'upstreamModel' | 'scale' | 'creativity'>,
  url: string,
): Record<string, unknown> {
  const family = longestPrefixRow(ENLARGERS, upstreamModel) ?? ENLARGER;
  return {
    image_url: url,
    ...family.fixed,
    ...(family.scale !== null && { [family.scale]: Math.min(scale, family.mostScale) }),
    ...(family.creative && { creativity }),
  };
}

interface FalTranscriber {
  language: 'language' | 'language_code' | null;
  /** Sent if the order wants timestamps; otherwise `untimed` is sent. */
  timed?: FixedFields;
  untimed?: FixedFields;
  /** Unit of the chunks in the result. */
  chunks: 'words' | 'segments';
  /** Assumes English unless the language is null. */
  guesses?: true;
  fixed?: FixedFields;
}

const TRANSCRIBERS: Readonly<Record<string, FalTranscriber>> = {
  'fal-ai/elevenlabs/speech-to-text': {
    language: 'language_code',
    chunks: 'words',
    fixed: { diarize: false, tag_audio_events: false },
  },
  'fal-ai/speech-to-text': { language: null, chunks: 'segments' },
  'fal-ai/whisper': {
    language: 'language',
    chunks: 'words',
    timed: { chunk_level: 'word' },
    untimed: { chunk_level: 'none' },
    fixed: { task: 'transcribe' },
  },
  'fal-ai/wizper': {
    language: 'language',
    chunks: 'segments',
    guesses: true,
    fixed: { task: 'transcribe', chunk_level: 'segment' },
  },
};
const TRANSCRIBER: FalTranscriber = { language: 'language', chunks: 'segments' };

export function transcriberOf(endpoint: string): FalTranscriber {
  return longestPrefixRow(TRANSCRIBERS, endpoint) ?? TRANSCRIBER;
}

export function transcriptionInput(
  { upstreamModel, language, timestamps }: Pick<TranscriptionOrder, 'upstreamModel' | 'language' | 'timestamps'>,
  url: string,
): Record<string, unknown> {
  const family = transcriberOf(upstreamModel);
  const said = language ?? (family.guesses ? null : undefined);
  return {
    audio_url: url,
    ...family.fixed,
    ...(timestamps ? family.timed : family.untimed),
    ...(family.language !== null && said !== undefined && { [family.language]: said }),
  };
}
