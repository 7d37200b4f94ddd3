/** Videos upscaled, cleaned and slowed by ffmpeg: known filters that invent no detail. */
import { join } from 'node:path';
import type { UpscaleOrder } from '../../../domain/generation/videoOrder.ts';
import type { PixelSize } from '../../../domain/images/images.ts';
import type { MediaTools } from '../../../engines/media/mediaTools.ts';
import type { Progress } from '../../../engines/media/progress.ts';
import type { CallContext, MediaFile, Outcome, VideoRequest } from '../../shared/provider.ts';
import { mediumInput } from '../ffmpegOptions.ts';
import { BEFORE_INPUTS, maxBitsPerSecond, mp4, prores } from './encoding.ts';
import { toEven } from './frames.ts';
import { refusedOutcome, runConversion } from './runConversion.ts';

/** ffmpeg scaler by enhancement model. */
export const SCALERS = {
  'local-lanczos': 'lanczos+accurate_rnd',
  'local-bicubic': 'bicubic+accurate_rnd',
  'local-pixel': 'neighbor',
} as const satisfies Record<string, string>;

const OUTPUTS = {
  mp4: { name: 'output.mp4', contentType: 'video/mp4', pixelFormat: 'yuv420p' },
  prores: { name: 'output.mov', contentType: 'video/quicktime', pixelFormat: 'yuv422p10le' },
} as const;

/** Limits of the output in pixels. */
const MAX_SHORT_SIDE = 2160;
const MAX_LONG_SIDE = 4096;
/** About five minutes of 1080p at 30 frames per second; ProRes takes a hundred times the bytes. */
const MAX_MEGAPIXELS = { mp4: 20_000, prores: 4_000 } as const;

const START_MS = 60_000;
/** Several times the need of a slow core. */
const MS_PER_MEGAPIXEL = 1_000;
/** Frames per second that the bit rate limit assumes; faster videos may exceed it. */
const FRAMES_OF_RATE = 24;

type UpscaleRequest = VideoRequest & { upscale: UpscaleOrder };

export async function upscaleVideo(
  { ffmpegPath }: MediaTools,
  request: UpscaleRequest,
  context: CallContext,
): Promise<Outcome> {
  const source = request.media.find(({ role }) => role === 'video');
  if (source === undefined) return refusedOutcome('video_url is required.');
  const plan = planUpscale(request.upscale, source);
  if (typeof plan === 'string') return refusedOutcome(plan);
  const { name, contentType } = OUTPUTS[plan.format];
  const path = join(context.workFolder, name);
  const conversion = {
    ffmpegPath,
    arguments: [
      ...[...BEFORE_INPUTS, ...mediumInput(source), '-filter_complex', plan.graph],
      ...['-map', '[out]', ...(source.hasAudio === true ? ['-map', '[sound]'] : [])],
      ...(plan.format === 'prores' ? prores(path) : mp4(plan.size, path)),
    ],
    timeoutMs: START_MS + Math.ceil(plan.megapixels * MS_PER_MEGAPIXEL),
    maxFileBytes: mostBytes(plan),
  };
  const failure = await runConversion(conversion, {
    context,
    isWhole: (written) => isWhole(plan, source, written),
  });
  return failure ?? { status: 'done', output: { path, contentType } };
}

function mostBytes({ format, megapixels, seconds, frames, size }: UpscalePlan): number {
  const bytes =
    format === 'prores'
      ? megapixels * 1_000_000 + seconds * 192_000
      : (Math.max(seconds, frames / FRAMES_OF_RATE) + 2) * maxBitsPerSecond(size) * 0.25;
  return Math.ceil(bytes) + 4_000_000;
}

/** Tolerance, since the source's edit list may hide frames. A truncated output lacks more. */
const HIDDEN_SHARE = 0.02;
const HIDDEN_FRAMES = 2;

function isWhole(plan: UpscalePlan, source: MediaFile, { frames, droppedFrames }: Progress): boolean {
  if (plan.isPaced) return frames === plan.frames;
  // Unpaced output has the frames of the source, except those with equal timestamps.
  const expected = source.frames ?? 0;
  return frames + droppedFrames >= expected - HIDDEN_FRAMES - expected * HIDDEN_SHARE && frames > 0;
}

interface UpscalePlan {
  size: PixelSize;
  frames: number;
  /** Whether the output has exactly `frames` frames, instead of those of the source. */
  isPaced: boolean;
  seconds: number;
  /** Filter chains from `[0:v:0]` to `[out]` and, with sound, from `[0:a:0]` to `[sound]`. */
  graph: string;
  format: 'mp4' | 'prores';
  /** Millions of pixels in the output. */
  megapixels: number;
}

/** A string is the refusal for the client. */
export function planUpscale(order: UpscaleOrder, source: MediaFile): UpscalePlan | string {
  const { width, height, seconds, framesPerSecond, hasAudio = false } = source;
  if (width === undefined || height === undefined || seconds === undefined || framesPerSecond === undefined) {
    throw new Error('the source video was not measured');
  }
  const scaler = order.enhancementModel ?? 'local-lanczos';
  if (!Object.hasOwn(SCALERS, scaler)) return 'The enhancement_model is not one of this model.';
  const format = order.outputFormat ?? 'mp4';
  if (format === 'prores' && order.h264Output === true) {
    return 'h264_output and output_format prores exclude each other.';
  }
  const size = { width: toEven(width * order.factor), height: toEven(height * order.factor) };
  const [short, long] = [Math.min(size.width, size.height), Math.max(size.width, size.height)];
  if (short > MAX_SHORT_SIDE || long > MAX_LONG_SIDE) {
    return `The output would be ${size.width}x${size.height}; at most ${MAX_LONG_SIDE}x${MAX_SHORT_SIDE} is made.`;
  }
  const { slowdownFactor: slowdown = 1, targetFps } = order;
  const rate = targetFps ?? framesPerSecond;
  const frames = Math.max(1, Math.round(seconds * slowdown * rate));
  const megapixels = (frames * size.width * size.height) / 1_000_000;
  if (megapixels > MAX_MEGAPIXELS[format]) {
    return 'The output would be too long for its size and frame rate.';
  }
  const isPaced = slowdown !== 1 || targetFps !== undefined;
  const pictures = [
    ...cleaningFilters(order),
    ...(isPaced ? pace(slowdown, { rate, frames }) : []),
    `scale=${size.width}:${size.height}:flags=${SCALERS[scaler as keyof typeof SCALERS]}`,
    ...finishingFilters(order),
    `format=${OUTPUTS[format].pixelFormat}`,
  ];
  const sound = ['aresample=48000:async=1:first_pts=0', ...Array(Math.log2(slowdown)).fill('atempo=0.5')];
  const heard = hasAudio ? `;[0:a:0]${sound.join(',')}[sound]` : '';
  const graph = `[0:v:0]${pictures.join(',')}[out]${heard}`;
  return { size, frames, isPaced, seconds: seconds * slowdown, graph, format, megapixels };
}

/** Slows the video and sets its frame rate by repeating or dropping frames, to exactly `frames`. */
function pace(slowdown: number, { rate, frames }: { rate: number; frames: number }): string[] {
  const exact = `tpad=stop=-1:stop_mode=clone,trim=end_frame=${frames}`;
  return [`setpts=${slowdown}*PTS`, `fps=${digits(rate)}:start_time=0`, exact];
}

/** Filters before scaling: they remove what must not be enlarged. */
export function cleaningFilters({ compression = 0, noise = 0, halo = 0 }: UpscaleOrder): string[] {
  const filter = compression > 0.5 ? 'strong' : 'weak';
  // The filter's default thresholds at 0.25, the strongest that keeps edges at 1.
  const [alpha, beta] = [0.04 + 0.24 * compression, 0.02 + 0.12 * compression].map(digits);
  const strengths = [8, 6, 10, 8].map((most) => digits(most * noise));
  return [
    ...(compression > 0 ? [`deblock=filter=${filter}:block=8:alpha=${alpha}:beta=${beta}`] : []),
    ...(noise > 0 ? [`hqdn3d=${strengths.join(':')}`] : []),
    // A negative threshold applies to edges only, where halos are.
    ...(halo > 0 ? [`smartblur=lr=${digits(0.5 + halo)}:ls=${digits(halo)}:lt=-12`] : []),
  ];
}

/** Filters after scaling. */
export function finishingFilters({ recoverDetail = 0, sharp = 0, softness = 1, grain = 0 }: UpscaleOrder): string[] {
  return [
    ...(recoverDetail > 0 ? [`cas=strength=${digits(recoverDetail)}`] : []),
    ...(sharp > 0 ? [`unsharp=lx=5:ly=5:la=${digits(1.5 * sharp)}:cx=5:cy=5:ca=0`] : []),
    ...(softness > 1 ? [`gblur=sigma=${digits((softness - 1) * 0.6)}`] : []),
    ...(grain > 0 ? [`noise=all_seed=1:c0s=${Math.max(1, Math.round(grain * 250))}:c0f=t+u`] : []),
  ];
}

function digits(value: number): string {
  return String(Number(value.toFixed(4)));
}
