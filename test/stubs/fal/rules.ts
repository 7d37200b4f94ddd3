/**
 * Inputs and refusals of the stub's models. Sources: the endpoint types of fal's own client (fal-ai/fal-js,
 * libs/client/src/types/endpoints.ts) for fields, and the pages "Model Errors" and "Request Error Types" of its
 * documentation for error bodies. The model checks an input, not the queue: a wrong order is accepted, and its result
 * is the error.
 */
import { MEDIA_MODELS, type MediaOutput } from './media.ts';

export interface FieldError {
  loc: (string | number)[];
  msg: string;
  type: string;
  url: string;
  ctx?: object;
  input?: unknown;
}

interface Rule {
  output: 'audio' | 'video' | MediaOutput;
  required: readonly string[];
  /** All fields of a model that refuses others. */
  known?: readonly string[];
  /** Allowed values of fields. */
  oneOf?: Readonly<Record<string, readonly unknown[]>>;
  numbers?: readonly string[];
}

const KLING_SECONDS = Array.from({ length: 13 }, (_, index) => String(index + 3));

export const STUB_MODELS: Readonly<Record<string, Rule>> = {
  'fal-ai/stable-audio-25/text-to-audio': {
    output: 'audio',
    required: ['prompt'],
    numbers: ['seconds_total'],
  },
  'fal-ai/minimax-music/v2': { output: 'audio', required: ['prompt', 'lyrics_prompt'] },
  'wan/v2.6/text-to-video': {
    output: 'video',
    required: ['prompt'],
    oneOf: { duration: ['5', '10', '15'], resolution: ['720p', '1080p'] },
  },
  'fal-ai/kling-video/o3/pro/reference-to-video': {
    output: 'video',
    required: ['prompt'],
    oneOf: { duration: KLING_SECONDS },
  },
  'fal-ai/topaz/upscale/video': {
    output: 'video',
    required: ['video_url'],
    numbers: ['upscale_factor', 'target_fps'],
  },
  'workflows/somebody/some-flow': { output: 'video', required: [] },
  ...MEDIA_MODELS,
};

/** The content checker refuses prompts with this word. */
const FORBIDDEN_WORD = 'forbidden';

export function errorsOf(model: string, input: Record<string, unknown>): FieldError[] {
  const rule = STUB_MODELS[model];
  if (rule === undefined) return [];
  const missing = rule.required
    .filter((field) => input[field] === undefined)
    .map((field) => fieldError(field, 'Field required', 'missing'));
  const wrong = Object.entries(rule.oneOf ?? {}).flatMap(([field, values]) => {
    if (input[field] === undefined || values.includes(input[field])) return [];
    const expected = values.map((value) => `'${value}'`).join(', ');
    return [{ ...fieldError(field, `Input should be ${expected}`, 'literal_error'), input: input[field] }];
  });
  const untyped = (rule.numbers ?? [])
    .filter((field) => input[field] !== undefined && typeof input[field] !== 'number')
    .map((field) => fieldError(field, 'Input should be a valid number', 'float_type'));
  const foreign = Object.keys(input)
    .filter((field) => rule.known?.includes(field) === false)
    .map((field) => fieldError(field, 'Extra inputs are not permitted', 'extra_forbidden'));
  const refused = String(input.prompt ?? input.text ?? '').includes(FORBIDDEN_WORD)
    ? [
        fieldError(
          'prompt',
          'The content could not be processed because it contained material flagged by a content checker.',
          'content_policy_violation',
        ),
      ]
    : [];
  return [...missing, ...wrong, ...untyped, ...foreign, ...refused];
}

function fieldError(field: string, msg: string, type: string): FieldError {
  return { loc: ['body', field], msg, type, url: `https://docs.fal.ai/errors#${type}` };
}
