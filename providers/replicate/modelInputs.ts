/**
 * Input names of known models. Source: the input schema that the service publishes for each version
 * (replicate.com/<owner>/<name>/versions/<version>/api). For wan-2.5, kling-v2.1 and seedance-1-pro, whose pages were
 * not available: descriptions of the same schema by resellers.
 */
import type { AudioRequest, MediaFile, VideoRequest } from '../shared/provider.ts';
import { publicOrder } from '../shared/publicOrder.ts';
import type { Fields } from '../shared/textFailures.ts';

type MediaRequest = AudioRequest | VideoRequest;

interface ModelInput {
  /** Farebox's field → the model's. */
  fields: Readonly<Record<string, string>>;
  /** Farebox's fields that `combine` converts together. */
  combined?: readonly string[];
  /** Undefined: the model lacks the combination. */
  combine?: (order: Fields) => Fields | undefined;
}

const MINIMAX_MUSIC: ModelInput = { fields: { prompt: 'prompt', lyrics_prompt: 'lyrics' } };

const VEO_FIELDS = {
  prompt: 'prompt',
  negative_prompt: 'negative_prompt',
  image_url: 'image',
  duration: 'duration',
  aspect_ratio: 'aspect_ratio',
  resolution: 'resolution',
  audio: 'generate_audio',
};
const VEO_3: ModelInput = { fields: VEO_FIELDS };
const VEO_31: ModelInput = {
  fields: { ...VEO_FIELDS, end_image_url: 'last_frame', reference_image_urls: 'reference_images' },
};

const SEEDANCE_FIELDS = {
  prompt: 'prompt',
  image_url: 'image',
  end_image_url: 'last_frame_image',
  duration: 'duration',
  aspect_ratio: 'aspect_ratio',
  resolution: 'resolution',
};
const SEEDANCE_2: ModelInput = {
  fields: {
    ...SEEDANCE_FIELDS,
    audio: 'generate_audio',
    reference_image_urls: 'reference_images',
    reference_video_urls: 'reference_videos',
    reference_audio_urls: 'reference_audios',
  },
  combined: [],
  // -1 lets the model choose; the default is 5 seconds.
  combine: (order) => (order.duration === undefined ? { duration: -1 } : {}),
};

const WAN_25_T2V: ModelInput = {
  fields: {
    prompt: 'prompt',
    negative_prompt: 'negative_prompt',
    audio_url: 'audio',
    duration: 'duration',
  },
  combined: ['resolution', 'aspect_ratio'],
  combine: wanSize,
};

const MODELS: Readonly<Record<string, ModelInput>> = {
  'minimax/music-1.5': MINIMAX_MUSIC,
  'minimax/music-2.5': MINIMAX_MUSIC,
  'google/lyria-2': { fields: { prompt: 'prompt' } },
  'stability-ai/stable-audio-2.5': { fields: { prompt: 'prompt', duration_seconds: 'duration' } },
  'wan-video/wan-2.5-t2v': WAN_25_T2V,
  'wan-video/wan-2.5-i2v': {
    fields: {
      prompt: 'prompt',
      negative_prompt: 'negative_prompt',
      image_url: 'image',
      audio_url: 'audio',
      duration: 'duration',
      resolution: 'resolution',
    },
  },
  'kwaivgi/kling-v2.1': {
    fields: {
      prompt: 'prompt',
      negative_prompt: 'negative_prompt',
      image_url: 'start_image',
      end_image_url: 'end_image',
      duration: 'duration',
    },
    combined: ['resolution'],
    combine: klingMode,
  },
  'google/veo-3': VEO_3,
  'google/veo-3-fast': VEO_3,
  'google/veo-3.1': VEO_31,
  'bytedance/seedance-1-pro': { fields: SEEDANCE_FIELDS },
  'bytedance/seedance-2.0': SEEDANCE_2,
  'bytedance/seedance-2.0-fast': SEEDANCE_2,
  'topazlabs/video-upscale': {
    fields: { video_url: 'video' },
    combined: ['upscale_factor', 'target_fps'],
    combine: topazTarget,
  },
};

/** Values that request nothing, so that a model without the field accepts them. */
const NOTHING_ASKED: Readonly<Record<string, unknown>> = {
  force_instrumental: false,
  lyrics_optimizer: false,
  loop: false,
  speed: 1,
  slowdown_factor: 1,
  h264_output: false,
  output_format: 'mp4',
  bitrate_mode: 'standard',
};

export type ModelInputs = { ok: true; input: Fields } | { ok: false; message: string };

/** `model`: owner/name. Options that the model lacks are refused, never dropped. */
export function modelInputs(model: string, request: MediaRequest): ModelInputs {
  const files = request.kind === 'video' ? request.media : [];
  const order = publicOrder(
    request,
    files.map((file) => ({ ...file, value: file })),
  );
  const known = Object.hasOwn(MODELS, model) ? MODELS[model] : undefined;
  if (known === undefined) return { ok: true, input: { ...order } };
  const { fields, combined = [], combine } = known;
  const asked = Object.entries(order).filter(([name, value]) => NOTHING_ASKED[name] !== value);
  const foreign = asked.map(([name]) => name).filter((name) => !(name in fields) && !combined.includes(name));
  if (foreign.length > 0) return { ok: false, message: `The model does not support ${foreign.join(', ')}.` };
  const together = combine === undefined ? {} : combine(order);
  if (together === undefined) {
    return { ok: false, message: `The model does not have this combination of ${combined.join(' and ')}.` };
  }
  const renamed = asked.flatMap(([name, value]) => {
    const theirs = fields[name];
    return theirs === undefined ? [] : [[theirs, value] as const];
  });
  return { ok: true, input: { ...Object.fromEntries(renamed), ...together } };
}

const WAN_SIZES: Readonly<Record<string, string>> = {
  '480p 16:9': '832*480',
  '480p 9:16': '480*832',
  '720p 16:9': '1280*720',
  '720p 9:16': '720*1280',
  '1080p 16:9': '1920*1080',
  '1080p 9:16': '1080*1920',
};

function wanSize({ resolution = '720p', aspect_ratio = '16:9' }: Fields) {
  const size = WAN_SIZES[`${resolution} ${aspect_ratio}`];
  return size === undefined ? undefined : { size };
}

const KLING_MODES: Readonly<Record<string, string>> = { '720p': 'standard', '1080p': 'pro' };

function klingMode({ resolution = '720p' }: Fields) {
  const mode = KLING_MODES[String(resolution)];
  return mode === undefined ? undefined : { mode };
}

/**
 * The model has three target heights instead of factors: uses the smallest that holds the result, else the largest.
 * Sends the source's frame rate, since the default is 60.
 */
function topazTarget({ upscale_factor = 2, target_fps, video_url }: Fields) {
  const video = video_url as MediaFile | undefined;
  const lines = Math.min(video?.width ?? 1_080, video?.height ?? 1_080) * Number(upscale_factor);
  const target_resolution = lines <= 720 ? '720p' : lines <= 1_080 ? '1080p' : '4k';
  const wanted = Number(target_fps ?? video?.framesPerSecond ?? 30);
  return { target_resolution, target_fps: Math.min(120, Math.max(15, Math.round(wanted))) };
}
