/** Bodies and answers of transcripts, speech and cloned voices (AUDIO-5 to AUDIO-8). */
import { z } from 'zod';
import { charactersOf } from '../../domain/speech/price.ts';
import { SPEECH_FORMATS } from '../../providers/shared/mediaProvider.ts';

/** Trait of the default model. */
export const DEFAULT_TRANSCRIBER = 'default';
export const DEFAULT_SPEAKER = 'default';
/** Default model. */
export const DEFAULT_CLONER = 'tts-chatterbox-hd';

const MAX_CHARACTERS = 4_096;

function modelOr(usual: string) {
  return z.string().min(1).default(usual);
}

export const transcriptionFields = z.strictObject({
  model: modelOr(DEFAULT_TRANSCRIBER),
  response_format: z.enum(['json', 'text']).default('json'),
  timestamps: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true'),
  /** ISO 639-1. */
  language: z
    .string()
    .regex(/^[a-z]{2}$/i, 'Must be an ISO 639-1 code of two letters')
    .transform((code) => code.toLowerCase())
    .optional(),
});
export type TranscriptionFields = z.output<typeof transcriptionFields>;

const span = { start: z.number().min(0), end: z.number().min(0) };

export const transcriptionAnswer = z.strictObject({
  text: z.string(),
  duration: z.number().min(0).optional().meta({ description: 'Seconds, as decoded: what is billed.' }),
  timestamps: z
    .strictObject({
      word: z.array(z.strictObject({ word: z.string(), ...span })).optional(),
      segment: z.array(z.strictObject({ text: z.string(), ...span })).optional(),
      char: z.array(z.strictObject({ char: z.string(), ...span })).optional(),
    })
    .optional()
    .meta({ description: 'In seconds; what the model tells of them, where `timestamps` was "true".' }),
});

export const speechBody = z.strictObject({
  model: modelOr(DEFAULT_SPEAKER),
  input: z
    .string()
    .min(1)
    .refine((input) => charactersOf(input) <= MAX_CHARACTERS, `At most ${MAX_CHARACTERS} characters`)
    .meta({ maxLength: MAX_CHARACTERS }),
  voice: z.string().min(1).max(512).optional(),
  response_format: z.enum(SPEECH_FORMATS).optional(),
  speed: z.number().min(0.25).max(4).default(1),
  streaming: z.boolean().default(false),
  language: z.string().min(2).max(32).optional(),
  prompt: z.string().max(500).optional(),
  instructions: z.string().max(MAX_CHARACTERS).optional().meta({ description: "OpenAI's name of `prompt`." }),
  stream_format: z
    .enum(['audio', 'sse'])
    .default('audio')
    .meta({ description: '`sse`: events with base64 instead of bytes, always while it is spoken.' }),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
});
export type SpeechBody = z.output<typeof speechBody>;

export const voiceFields = z.strictObject({ model: modelOr(DEFAULT_CLONER) });
export type VoiceFields = z.output<typeof voiceFields>;

export const voiceAnswer = z.strictObject({
  id: z.string().meta({ description: '`vv_` and 32 hex characters; valid for 7 days.' }),
  model: z.string(),
});
