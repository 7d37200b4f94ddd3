/** Rules of the stub of ElevenLabs by operation, from the published request schemas. */
import { z } from 'zod';
import type { StubBehaviour } from './elevenlabsFaults.ts';

export type Operation = 'speech-to-speech' | 'text-to-speech' | 'music' | 'sound-generation';

/** A received request for audio. */
export interface StubOrder {
  operation: Operation;
  voiceId: string | undefined;
  streamed: boolean;
  url: URL;
  type: string;
  body: Buffer<ArrayBuffer>;
  behaviour: StubBehaviour | undefined;
  count: (size: number) => void;
}

export interface AcceptedConversion {
  voiceId: string;
  modelId: string;
  seed: number | undefined;
  removeBackgroundNoise: boolean;
  fileFormat: string;
  outputFormat: string;
  audioBytes: number;
  audioType: string;
  streamed: boolean;
}

/** Speech, music or a sound from text. */
export interface AcceptedGeneration {
  operation: Exclude<Operation, 'speech-to-speech'>;
  voiceId: string | undefined;
  outputFormat: string;
  /** The request body as sent. */
  body: unknown;
}

interface InvalidField {
  loc: (string | number)[];
  msg: string;
  type: string;
}

/** Name and message of the service's error. `data` has suggestions for prompts and plans. */
export interface Refusal {
  code:
    | 'model_not_found'
    | 'output_format_not_allowed'
    | 'max_character_limit_exceeded'
    | 'unsupported_language'
    | 'invalid_voice_settings'
    | 'bad_prompt'
    | 'bad_composition_plan';
  message: string;
  data?: object;
}

export interface Accepted {
  /** Length of the resulting audio. */
  seconds: number;
  outputFormat: string;
  record: AcceptedConversion | AcceptedGeneration;
}

export type Checked = Accepted | { invalid: InvalidField[] } | { refused: Refusal };

export async function checkOrder(order: StubOrder): Promise<Checked> {
  return order.operation === 'speech-to-speech'
    ? await checkConversion(order)
    : checkGeneration(order, order.operation);
}

const STS_MODELS = new Set(['eleven_multilingual_sts_v2', 'eleven_english_sts_v2']);
const STS_FORMAT =
  /^(mp3_(22050_32|24000_48|44100_(32|64|96|128|192))|wav_(8000|16000|22050|24000|32000|44100|48000))$/;

async function checkConversion(order: StubOrder): Promise<Checked> {
  const form = await new Response(order.body, { headers: { 'content-type': order.type } })
    .formData()
    .catch(() => new FormData());
  const text = (name: string) => {
    const value = form.get(name);
    return typeof value === 'string' ? value : undefined;
  };
  const invalid: InvalidField[] = [];
  const wrong = (name: string, msg: string) => invalid.push({ loc: ['body', name], msg, type: 'value_error' });
  const audio = form.get('audio');
  if (!(audio instanceof Blob)) wrong('audio', 'Field required');
  const seed = text('seed');
  if (seed !== undefined && !(/^\d+$/.test(seed) && Number(seed) <= 4_294_967_295)) wrong('seed', 'Invalid seed');
  const noise = text('remove_background_noise') ?? 'false';
  if (noise !== 'true' && noise !== 'false') wrong('remove_background_noise', 'Input should be a valid boolean');
  const fileFormat = text('file_format') ?? 'other';
  if (fileFormat !== 'other' && fileFormat !== 'pcm_s16le_16') wrong('file_format', 'Invalid format');
  const outputFormat = order.url.searchParams.get('output_format') ?? 'mp3_44100_128';
  if (!STS_FORMAT.test(outputFormat)) wrong('output_format', 'Invalid format');
  if (!(audio instanceof Blob) || invalid.length > 0) return { invalid };
  const modelId = text('model_id') ?? 'eleven_english_sts_v2';
  if (!STS_MODELS.has(modelId)) return refuse('model_not_found', 'The model was not found.');
  const record = {
    voiceId: order.voiceId ?? '',
    modelId,
    seed: seed === undefined ? undefined : Number(seed),
    removeBackgroundNoise: noise === 'true',
    fileFormat,
    outputFormat,
    audioBytes: audio.size,
    audioType: audio.type,
    streamed: order.streamed,
  };
  return { seconds: Math.max(1, Math.round(audio.size / 16_000)), outputFormat, record };
}

const share = z.number().min(0).max(1);
const speechBody = z.object({
  text: z.string(),
  model_id: z.string().default('eleven_multilingual_v2'),
  language_code: z.string().nullish(),
  voice_settings: z
    .object({
      stability: share.nullish(),
      similarity_boost: share.nullish(),
      style: share.nullish(),
      use_speaker_boost: z.boolean().nullish(),
      speed: z.number().nullish(),
    })
    .nullish(),
  seed: z.int().min(0).max(4_294_967_295).nullish(),
});
const musicBody = z.object({
  prompt: z.string().max(4_100).nullish(),
  composition_plan: z.object({}).nullish(),
  music_length_ms: z.int().min(3_000).max(600_000).nullish(),
  model_id: z.enum(['music_v1', 'music_v2', 'music_v2_5']).default('music_v1'),
  force_instrumental: z.boolean().default(false),
});
const soundBody = z.object({
  text: z.string(),
  loop: z.boolean().default(false),
  duration_seconds: z.number().min(0.5).max(30).nullish(),
  prompt_influence: share.nullish(),
  model_id: z.literal('eleven_text_to_sound_v2').default('eleven_text_to_sound_v2'),
});

/** Speech models: maximum characters per request, and whether a language can be enforced. */
const SPEECH_MODELS: Readonly<Record<string, { characters: number; languages: boolean }>> = {
  eleven_multilingual_v2: { characters: 10_000, languages: false },
  eleven_v3: { characters: 5_000, languages: true },
  eleven_turbo_v2_5: { characters: 40_000, languages: true },
};
const SOUND_CHARACTERS = 450;
const OUTPUT_FORMAT =
  /^(mp3_(22050_32|24000_48|44100_(32|64|96|128|192)|48000_(128|192|240|320))|(pcm|wav)_\d{4,5}|[au]law_8000|opus_48000_(32|64|96|128|192))$/;
/** Formats of the stub account's plan, which lacks the better ones. */
const PLAN_FORMAT =
  /^(mp3_(22050_32|24000_48|44100_(32|64|96|128)|48000_128)|(pcm|wav)_(8000|16000|22050|24000)|opus_48000_(32|64|96|128))$/;

function checkGeneration(order: StubOrder, operation: AcceptedGeneration['operation']): Checked {
  const asked = order.url.searchParams.get('output_format');
  const outputFormat = asked === null || (operation === 'music' && asked === 'auto') ? 'mp3_44100_128' : asked;
  const unstreamed = order.streamed && outputFormat.startsWith('wav_');
  if (!OUTPUT_FORMAT.test(outputFormat) || unstreamed) {
    return {
      invalid: [{ loc: ['query', 'output_format'], msg: 'Input should be a known format', type: 'enum' }],
    };
  }
  if (!PLAN_FORMAT.test(outputFormat)) return refuse('output_format_not_allowed', 'Upgrade your plan.');
  const body = parseJson(order.body);
  const checked = BODIES[operation](body);
  if (typeof checked !== 'number') return checked;
  return {
    seconds: checked,
    outputFormat,
    record: { operation, voiceId: order.voiceId, outputFormat, body },
  };
}

type CheckedBody = number | Exclude<Checked, Accepted>;

/** Each check returns the length of the audio in seconds. */
const BODIES: Record<AcceptedGeneration['operation'], (body: unknown) => CheckedBody> = {
  'text-to-speech': checkSpeech,
  music: checkMusic,
  'sound-generation': checkSound,
};

function checkSpeech(body: unknown): CheckedBody {
  const parsed = speechBody.safeParse(body);
  if (!parsed.success) return invalidFields(parsed.error);
  const { text, model_id, language_code, voice_settings } = parsed.data;
  const model = SPEECH_MODELS[model_id];
  if (model === undefined) return refuse('model_not_found', `A model with model ID ${model_id} does not exist.`);
  if (text.length > model.characters) {
    const words = `This request's text has ${text.length} characters and exceeds the character limit of ${model.characters} characters.`;
    return refuse('max_character_limit_exceeded', words);
  }
  if (language_code && !model.languages) {
    const words = `Model '${model_id}' does not support the language_code ${language_code}.`;
    return refuse('unsupported_language', words);
  }
  const speed = voice_settings?.speed ?? 1;
  if (speed < 0.7 || speed > 1.2) {
    const words = `Invalid setting for speed received, expected to be greater or equal to 0.7 and less or equal to 1.2, received ${speed}.`;
    return refuse('invalid_voice_settings', words);
  }
  return Math.max(1, Math.round(text.length / 15));
}

export const SUGGESTED_PROMPT = 'An epic rock ballad with dramatic tempo changes and operatic harmonies.';

function checkMusic(body: unknown): CheckedBody {
  const parsed = musicBody.safeParse(body);
  if (!parsed.success) return invalidFields(parsed.error);
  const { prompt, composition_plan, music_length_ms } = parsed.data;
  if ((prompt == null) === (composition_plan == null)) {
    return {
      invalid: [{ loc: ['body'], msg: 'Either prompt or composition_plan is required', type: 'value_error' }],
    };
  }
  if (prompt?.includes('Bohemian Rhapsody')) {
    const data = { prompt_suggestion: SUGGESTED_PROMPT };
    return refuse('bad_prompt', 'Your prompt appears to contain copyrighted material.', data);
  }
  // The service suggests nothing for harmful prompts.
  if (prompt?.includes('harmful')) return refuse('bad_prompt', 'Your prompt violates our terms of service.');
  if (prompt?.includes('in the style of')) {
    const data = { composition_plan_suggestion: { positive_global_styles: ['operatic'], sections: [] } };
    return refuse('bad_composition_plan', 'The composition plan contains copyrighted styles.', data);
  }
  return (music_length_ms ?? 10_000) / 1_000;
}

function checkSound(body: unknown): CheckedBody {
  const parsed = soundBody.safeParse(body);
  if (!parsed.success) return invalidFields(parsed.error);
  const { text, duration_seconds } = parsed.data;
  if (text.length > SOUND_CHARACTERS) {
    const words = `The text has ${text.length} characters and exceeds the limit of ${SOUND_CHARACTERS}.`;
    return refuse('max_character_limit_exceeded', words);
  }
  return duration_seconds ?? 5;
}

function refuse(code: Refusal['code'], message: string, data?: object): { refused: Refusal } {
  return { refused: { code, message, ...(data && { data }) } };
}

function invalidFields(error: z.ZodError): { invalid: InvalidField[] } {
  return {
    invalid: error.issues.map(({ path, message, code }) => ({
      loc: ['body', ...path.map((key) => (typeof key === 'symbol' ? String(key) : key))],
      msg: message,
      type: code,
    })),
  };
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
