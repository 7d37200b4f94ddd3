/**
 * Converts an order to the input of a fal model. Fields start with the names of Farebox's own API; each family lists
 * the names that differ. Source: the endpoint types of fal's own client (fal-ai/fal-js,
 * libs/client/src/types/endpoints.ts, versions of August 2026 and before) and the pages of the models.
 */
import type { AudioRequest, VideoRequest } from '../shared/provider.ts';
import { type PublicMedium, publicOrder } from '../shared/publicOrder.ts';
import type { Fields } from '../shared/textFailures.ts';
import { longestPrefixRow } from './service.ts';

/** `text`: "5"; `number`: 5; `suffixed`: "5s"; `frames`: frames per second, for a count of frames. */
type DurationForm = 'text' | 'number' | 'suffixed' | { readonly frames: number };

interface FalFamily {
  /** Farebox's name → the model's; null: no such field. Lists with one target are joined in this order. */
  readonly names: Readonly<Record<string, string | null>>;
  readonly duration: DurationForm;
  /** List fields of which the model takes only the first item. */
  readonly single?: readonly string[];
  readonly fixed?: Readonly<Record<string, string | number | boolean>>;
}

const NO_SOUND_SWITCH = { audio: null };
const SOUND = { audio: 'generate_audio' };
const SECONDS = { duration_seconds: 'duration' };

const KLING: FalFamily = {
  names: {
    ...SOUND,
    image_url: 'start_image_url',
    reference_image_urls: 'image_urls',
    scene_image_urls: 'image_urls',
    resolution: null,
  },
  duration: 'text',
};
const SEEDANCE: FalFamily = {
  names: {
    ...SOUND,
    reference_image_urls: 'image_urls',
    reference_video_urls: 'video_urls',
    reference_audio_urls: 'audio_urls',
  },
  duration: 'text',
};
const WAN: FalFamily = { names: NO_SOUND_SWITCH, duration: 'text' };
const MINIMAX_MUSIC: FalFamily = {
  names: { lyrics_prompt: 'lyrics', force_instrumental: 'is_instrumental' },
  duration: 'number',
};

/** Key: whole leading segments of the endpoint id. The longest match wins. */
const FAMILIES: Readonly<Record<string, FalFamily>> = {
  'bytedance/seed-audio-1.0': { names: { duration_seconds: null }, duration: 'number' },
  'bytedance/seedance-2.0': SEEDANCE,
  'bytedance/seedance-2.5': SEEDANCE,
  'fal-ai/ace-step': {
    names: { ...SECONDS, prompt: 'tags', lyrics_prompt: 'lyrics' },
    duration: 'number',
  },
  'fal-ai/ace-step/prompt-to-audio': {
    names: { ...SECONDS, force_instrumental: 'instrumental' },
    duration: 'number',
  },
  'fal-ai/kling-video/o3': KLING,
  'fal-ai/kling-video/v3': KLING,
  'fal-ai/longcat-video/text-to-video/720p': {
    names: { ...NO_SOUND_SWITCH, duration: 'num_frames', resolution: null },
    duration: { frames: 30 },
    fixed: { fps: 30 },
  },
  'fal-ai/lyria3': { names: { duration_seconds: null }, duration: 'number' },
  'fal-ai/minimax-music/v2': { names: {}, duration: 'number' },
  'fal-ai/minimax-music/v2.5': MINIMAX_MUSIC,
  'fal-ai/minimax-music/v2.6': MINIMAX_MUSIC,
  'fal-ai/mmaudio-v2': { names: SECONDS, duration: 'number' },
  'fal-ai/pixverse/c1/transition': {
    names: { audio: 'generate_audio_switch', image_url: 'first_image_url' },
    duration: 'number',
  },
  'fal-ai/stable-audio-25': { names: { duration_seconds: 'seconds_total' }, duration: 'number' },
  'fal-ai/topaz/upscale/video': {
    names: { enhancement_model: 'model', h264_output: 'H264_output', prompt: null },
    duration: 'number',
  },
  'fal-ai/veo3.1': { names: SOUND, duration: 'suffixed' },
  'fal-ai/wan/v2.7': WAN,
  'fal-ai/wan/v2.7/edit-video': {
    names: { ...NO_SOUND_SWITCH, reference_image_urls: 'reference_image_url' },
    duration: 'number',
    single: ['reference_image_urls'],
  },
  'minimax/h3': { names: NO_SOUND_SWITCH, duration: 'number' },
  // The service's default is AAC, which few players of Farebox's clients take.
  'sonilo/v1.1/text-to-sound-effects': {
    names: SECONDS,
    duration: 'number',
    fixed: { audio_format: 'mp3' },
  },
  'sonilo/v1.1': { names: SECONDS, duration: 'number' },
  'wan/v2.6': WAN,
  'xai/grok-imagine-video': { names: NO_SOUND_SWITCH, duration: 'number' },
};

/**
 * For other models: Farebox's names, audio durations as numbers, video durations as text ("5"), the form that most fal
 * video models take.
 */
const GENERIC: Readonly<Record<'audio' | 'video', FalFamily>> = {
  audio: { names: {}, duration: 'number' },
  video: { names: {}, duration: 'text' },
};

function familyOf(endpoint: string, kind: 'audio' | 'video'): FalFamily {
  return longestPrefixRow(FAMILIES, endpoint) ?? GENERIC[kind];
}

/** `media` is empty for audio. */
export function toInput(request: AudioRequest | VideoRequest, media: readonly PublicMedium[]): Fields {
  return renamed(publicOrder(request, media), familyOf(request.upstreamModel, request.kind));
}

function renamed(ours: Fields, family: FalFamily): Fields {
  const input: Fields = { ...family.fixed };
  for (const [field, value] of Object.entries(ours)) {
    const name = Object.hasOwn(family.names, field) ? family.names[field] : field;
    if (name === null || name === undefined) continue;
    const said = saidBy(family, field, value);
    const before = input[name];
    input[name] = Array.isArray(before) && Array.isArray(said) ? [...before, ...said] : said;
  }
  return input;
}

function saidBy(family: FalFamily, field: string, value: unknown): unknown {
  if (typeof value === 'number' && (field === 'duration' || field === 'duration_seconds')) {
    return lengthAs(family.duration, value);
  }
  return Array.isArray(value) && family.single?.includes(field) ? value[0] : value;
}

function lengthAs(form: DurationForm, seconds: number): string | number {
  if (typeof form === 'object') return Math.round(seconds * form.frames);
  if (form === 'number') return seconds;
  return form === 'text' ? String(seconds) : `${seconds}s`;
}
