/**
 * Input schemas of a few hosted models, as published per version (replicate.com/<owner>/<name>/versions/<version>/api).
 * The schemas of wan-2.5, kling-v2.1 and seedance-1-pro come from resellers.
 */
import { MEDIA_MODELS, type Property, type Schema } from './mediaModels.ts';

const TEXT = { type: 'string' } as const;
const PROMPT = { type: 'string', required: true } as const;
const SEED = { type: 'integer' } as const;
const FILE = { type: 'uri' } as const;
const FILES = { type: 'uris' } as const;
const whole = (min: number, max: number) => ({ type: 'integer', min, max }) as const;
const one = (...values: (string | number)[]): Property => ({
  type: typeof values[0] === 'number' ? 'integer' : 'string',
  enum: values,
});

const VEO: Schema = {
  prompt: PROMPT,
  aspect_ratio: one('16:9', '9:16'),
  duration: one(4, 6, 8),
  image: FILE,
  negative_prompt: TEXT,
  resolution: one('720p', '1080p'),
  generate_audio: { type: 'boolean' },
  seed: SEED,
};

export const MODELS: Readonly<Record<string, Schema>> = {
  ...MEDIA_MODELS,
  'minimax/music-1.5': {
    lyrics: { type: 'string', required: true },
    prompt: PROMPT,
    bitrate: one(32_000, 64_000, 128_000, 256_000),
    sample_rate: one(16_000, 24_000, 32_000, 44_100),
    audio_format: one('mp3', 'wav', 'pcm'),
  },
  'google/lyria-2': { prompt: PROMPT, negative_prompt: TEXT, seed: SEED },
  'stability-ai/stable-audio-2.5': {
    prompt: PROMPT,
    duration: whole(1, 190),
    steps: whole(4, 8),
    cfg_scale: { type: 'number', min: 1, max: 25 },
    seed: SEED,
  },
  'wan-video/wan-2.5-t2v': {
    prompt: PROMPT,
    negative_prompt: TEXT,
    audio: FILE,
    size: one('832*480', '480*832', '1280*720', '720*1280', '1920*1080', '1080*1920'),
    duration: one(5, 10),
    enable_prompt_expansion: { type: 'boolean' },
    seed: SEED,
  },
  'wan-video/wan-2.5-i2v': {
    prompt: PROMPT,
    image: { type: 'uri', required: true },
    negative_prompt: TEXT,
    audio: FILE,
    resolution: one('480p', '720p', '1080p'),
    duration: whole(1, 10),
    enable_prompt_expansion: { type: 'boolean' },
    seed: SEED,
  },
  'kwaivgi/kling-v2.1': {
    prompt: PROMPT,
    mode: one('standard', 'pro'),
    duration: one(5, 10),
    start_image: { type: 'uri', required: true },
    end_image: FILE,
    negative_prompt: TEXT,
  },
  'google/veo-3': VEO,
  'google/veo-3.1': { ...VEO, last_frame: FILE, reference_images: FILES },
  'bytedance/seedance-1-pro': {
    prompt: PROMPT,
    image: FILE,
    last_frame_image: FILE,
    duration: whole(2, 12),
    resolution: one('480p', '720p', '1080p'),
    aspect_ratio: one('16:9', '4:3', '1:1', '3:4', '9:16', '21:9', '9:21'),
    camera_fixed: { type: 'boolean' },
    fps: one(24),
    seed: SEED,
  },
  'bytedance/seedance-2.0': {
    prompt: PROMPT,
    image: FILE,
    last_frame_image: FILE,
    reference_images: FILES,
    reference_videos: FILES,
    reference_audios: FILES,
    duration: whole(-1, 15),
    resolution: one('480p', '720p'),
    aspect_ratio: one('16:9', '4:3', '1:1', '3:4', '9:16', '21:9', '9:21', 'adaptive'),
    generate_audio: { type: 'boolean' },
    seed: SEED,
  },
  'topazlabs/video-upscale': {
    video: { type: 'uri', required: true },
    target_resolution: one('720p', '1080p', '4k'),
    target_fps: whole(15, 120),
  },
};

/** A user's model: it has the fields of our public API without types. */
export const OWN_MODEL = 'acme/anything';
export const OWN_VERSION = '5c7d5dc6dd8bf75c1acaa8565735e7986bc5b66206b55cca93cb72c9bf15ccaa';

export interface InvalidField {
  type: string;
  field: string;
  description: string;
}

export function invalidInputs(model: string, input: Record<string, unknown>): InvalidField[] {
  const schema = MODELS[model];
  if (schema === undefined) return [];
  const missing = Object.entries(schema)
    .filter(([name, property]) => property.required && input[name] === undefined)
    .map(([name]) => ({ type: 'required', field: 'input', description: `${name} is required` }));
  const wrong = Object.entries(input).flatMap(([name, value]): InvalidField[] => {
    const property = schema[name];
    if (property === undefined) {
      const description = `Additional property ${name} is not allowed`;
      return [{ type: 'additional_property_not_allowed', field: 'input', description }];
    }
    const fault = faultOf(property, value);
    return fault === undefined ? [] : [{ type: 'invalid', field: `input.${name}`, description: fault }];
  });
  return [...missing, ...wrong];
}

function faultOf(property: Property, value: unknown): string | undefined {
  if (!isOfType(property, value)) return `Invalid type. Expected: ${property.type}, given: ${typeof value}`;
  if (property.enum && !property.enum.includes(value as string | number)) {
    return `Must be one of the following: ${property.enum.join(', ')}`;
  }
  if (property.min !== undefined && Number(value) < property.min) return `Must be at least ${property.min}`;
  if (property.max !== undefined && Number(value) > property.max) return `Must be at most ${property.max}`;
  return undefined;
}

function isOfType({ type }: Property, value: unknown): boolean {
  if (type === 'uris') return Array.isArray(value) && value.every(isUri);
  if (type === 'uri') return isUri(value);
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}

function isUri(value: unknown): boolean {
  return typeof value === 'string' && /^(https?|data):/.test(value) && URL.canParse(value);
}
