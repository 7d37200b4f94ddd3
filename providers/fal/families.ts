/**
 * What the models of fal call the fields of an order. An input is written in the names of our own API first, and each
 * family says where its names differ. Source: the endpoint types of fal's own client (fal-ai/fal-js,
 * libs/client/src/types/endpoints.ts, versions of August 2026 and before) and the pages of the models.
 */
import { longestFitting } from './service.ts';

/** `text`: "5"; `number`: 5; `suffixed`: "5s"; `frames`: as many as that length has at this rate. */
export type DurationForm = 'text' | 'number' | 'suffixed' | { readonly frames: number };

export interface Family {
  /** Our name → the model's; null: the model has no such field. Two that have one name are joined in this order. */
  readonly names: Readonly<Record<string, string | null>>;
  readonly duration: DurationForm;
  /** Lists of ours of which the model takes the first only. */
  readonly single?: readonly string[];
  /** Sent with every order. */
  readonly fixed?: Readonly<Record<string, string | number | boolean>>;
}

const NO_SOUND_SWITCH = { audio: null };
const SOUND = { audio: 'generate_audio' };
const SECONDS = { duration_seconds: 'duration' };

const KLING: Family = {
  names: {
    ...SOUND,
    image_url: 'start_image_url',
    reference_image_urls: 'image_urls',
    scene_image_urls: 'image_urls',
    resolution: null,
  },
  duration: 'text',
};
const SEEDANCE: Family = {
  names: {
    ...SOUND,
    reference_image_urls: 'image_urls',
    reference_video_urls: 'video_urls',
    reference_audio_urls: 'audio_urls',
  },
  duration: 'text',
};
const WAN: Family = { names: NO_SOUND_SWITCH, duration: 'text' };
const MINIMAX_MUSIC: Family = {
  names: { lyrics_prompt: 'lyrics', force_instrumental: 'is_instrumental' },
  duration: 'number',
};

/** By the beginning of the endpoint id, in whole segments; the longest that fits counts. */
const FAMILIES: Readonly<Record<string, Family>> = {
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
  'fal-ai/sora-2': { names: NO_SOUND_SWITCH, duration: 'text' },
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
  // The service's own default is AAC, which few players of ours take.
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
 * For every other model: our own names as they are, lengths of audio as numbers, those of video as text ("5"), which
 * more of fal's video models take than numbers.
 */
const GENERIC: Readonly<Record<'audio' | 'video', Family>> = {
  audio: { names: {}, duration: 'number' },
  video: { names: {}, duration: 'text' },
};

export function familyOf(endpoint: string, kind: 'audio' | 'video'): Family {
  return longestFitting(FAMILIES, endpoint) ?? GENERIC[kind];
}
