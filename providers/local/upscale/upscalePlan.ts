/** What an order to enlarge a video becomes: sizes, filters for picture and sound, and how much work it is. */
import type { UpscaleOrder } from '../../../domain/generation/videoOrder.ts';
import type { MediaFile } from '../../shared/provider.ts';
import { even, type Size } from '../video/frames.ts';

export interface UpscalePlan {
  size: Size;
  frames: number;
  /** It has exactly so many frames, else those of the source. */
  isPaced: boolean;
  seconds: number;
  /** Chains from `[0:v:0]` to `[out]` and, where there is sound, from `[0:a:0]` to `[sound]`. */
  graph: string;
  hasSound: boolean;
  format: 'mp4' | 'prores';
  /** Millions of pixels to be written, and to be found by following motion. */
  megapixels: number;
  followedMegapixels: number;
}

/** How pixels are made out of pixels, by the name of the enhancement model. */
export const SCALERS = {
  'local-lanczos': 'lanczos+accurate_rnd',
  'local-bicubic': 'bicubic+accurate_rnd',
  'local-pixel': 'neighbor',
} as const satisfies Record<string, string>;

/** Of the output, in pixels. */
const MOST_SHORT_SIDE = 2160;
const MOST_LONG_SIDE = 4096;
/** About five minutes of 1080p at 30 frames per second; ProRes takes a hundred times the bytes. */
const MOST_MEGAPIXELS = { mp4: 20_000, prores: 4_000 } as const;
/** Following motion costs seconds for each frame of 720p: what is more than a minute of it is blended. */
const MOST_FOLLOWED_MEGAPIXELS = 400;
/** Motion needs frames before and after the one to be found. */
const FEWEST_FOLLOWED_FRAMES = 6;

/** A string is a refusal, in words for the client. */
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
  const size = { width: even(width * order.factor), height: even(height * order.factor) };
  const [short, long] = [Math.min(size.width, size.height), Math.max(size.width, size.height)];
  if (short > MOST_SHORT_SIDE || long > MOST_LONG_SIDE) {
    return `The output would be ${size.width}x${size.height}; at most ${MOST_LONG_SIDE}x${MOST_SHORT_SIDE} is made.`;
  }
  const slowdown = order.slowdownFactor ?? 1;
  const rate = order.targetFps ?? framesPerSecond;
  const frames = Math.max(1, Math.round(seconds * slowdown * rate));
  const megapixels = (frames * size.width * size.height) / 1_000_000;
  if (megapixels > MOST_MEGAPIXELS[format]) {
    return 'The output would be too long for its size and frame rate.';
  }
  const pace = paceOf({ order, rate, frames, source: { width, height, framesPerSecond, seconds } });
  const flags = SCALERS[scaler as keyof typeof SCALERS];
  const pictures = [
    ...cleaned(order),
    ...pace.filters,
    `scale=${size.width}:${size.height}:flags=${flags}`,
    ...finished(order),
    `format=${format === 'prores' ? 'yuv422p10le' : 'yuv420p'}`,
  ];
  const sound = ['aresample=48000:async=1:first_pts=0', ...Array(Math.log2(slowdown)).fill('atempo=0.5')];
  const graph = [
    `[0:v:0]${pictures.join(',')}[out]`,
    ...(hasAudio ? [`[0:a:0]${sound.join(',')}[sound]`] : []),
  ].join(';\n');
  const length = { size, frames, isPaced: pace.filters.length > 0, seconds: seconds * slowdown };
  return { ...length, graph, hasSound: hasAudio, format, megapixels, followedMegapixels: pace.followed };
}

/** Before it is enlarged: what must not become larger. */
export function cleaned({ compression = 0, noise = 0, halo = 0 }: UpscaleOrder): string[] {
  return [
    ...(compression > 0
      ? [
          // The filter's own thresholds at a quarter, the strongest that keeps edges at 1.
          `deblock=filter=${compression > 0.5 ? 'strong' : 'weak'}:block=8:alpha=${digits(0.04 + 0.24 * compression)}:beta=${digits(0.02 + 0.12 * compression)}`,
        ]
      : []),
    ...(noise > 0
      ? [
          `hqdn3d=luma_spatial=${digits(8 * noise)}:chroma_spatial=${digits(6 * noise)}:luma_tmp=${digits(10 * noise)}:chroma_tmp=${digits(8 * noise)}`,
        ]
      : []),
    // A negative threshold means edges only, which is where halos are.
    ...(halo > 0 ? [`smartblur=lr=${digits(0.5 + halo)}:ls=${digits(halo)}:lt=-12`] : []),
  ];
}

/** After it was enlarged. */
export function finished({ recoverDetail = 0, sharp = 0, softness = 1, grain = 0 }: UpscaleOrder): string[] {
  return [
    ...(recoverDetail > 0 ? [`cas=strength=${digits(recoverDetail)}`] : []),
    ...(sharp > 0 ? [`unsharp=lx=5:ly=5:la=${digits(1.5 * sharp)}:cx=5:cy=5:ca=0`] : []),
    ...(softness > 1 ? [`gblur=sigma=${digits((softness - 1) * 0.6)}`] : []),
    ...(grain > 0 ? [`noise=all_seed=1:c0s=${Math.max(1, Math.round(grain * 250))}:c0f=t+u`] : []),
  ];
}

interface Pace {
  order: UpscaleOrder;
  /** Frames per second and frames of the output. */
  rate: number;
  frames: number;
  source: Size & { framesPerSecond: number; seconds: number };
}

/** Slower, and at another frame rate: frames that are not there are found by following motion, or blended. */
function paceOf({ order, rate, frames, source }: Pace): { filters: string[]; followed: number } {
  const slowdown = order.slowdownFactor ?? 1;
  if (slowdown === 1 && order.targetFps === undefined) return { filters: [], followed: 0 };
  const slower = slowdown === 1 ? [] : [`setpts=${slowdown}*PTS`];
  const fps = digits(rate);
  // Exactly as many as the length has, from its start.
  const exact = `tpad=stop=-1:stop_mode=clone,trim=end_frame=${frames}`;
  const there = source.framesPerSecond / slowdown;
  const few = source.seconds * source.framesPerSecond < FEWEST_FOLLOWED_FRAMES;
  if (rate <= there * 1.001 || few) return { filters: [...slower, `fps=${fps}`, exact], followed: 0 };
  const megapixels = (frames * source.width * source.height) / 1_000_000;
  const follows = megapixels <= MOST_FOLLOWED_MEGAPIXELS && Math.min(source.width, source.height) >= 64;
  const mode = follows ? 'mci:mc_mode=aobmc:me_mode=bidir:vsbmc=0:scd=fdiff' : 'blend';
  return {
    filters: [
      // Nothing is found before the third frame or after the last but one: those at the ends stand in for their neighbours.
      `tpad=start=2:stop=3:start_mode=clone:stop_mode=clone,setpts=PTS-${digits(2 / source.framesPerSecond)}/TB`,
      ...slower,
      `minterpolate=fps=${fps}:mi_mode=${mode},fps=${fps}:start_time=0`,
      exact,
    ],
    followed: follows ? megapixels : 0,
  };
}

function digits(value: number): string {
  return String(Number(value.toFixed(4)));
}
