/** Frame sizes and frame rate. */
import type { VideoOrder } from '../../../domain/generation/videoOrder.ts';
import type { PixelSize } from '../../../domain/images/images.ts';
import { nearestRatio, ratioOf } from '../../shared/imageSizes.ts';

export const FRAMES_PER_SECOND = 24;

/** Short side in pixels by resolution name. Larger ones exceed the memory limit of a run. */
export const SHORT_SIDES = {
  '256p': 256,
  '360p': 360,
  '480p': 480,
  '540p': 540,
  '720p': 720,
  '1080p': 1080,
} as const satisfies Record<string, number>;

/** Ratios that an order may name; `auto` takes the one nearest to the order's first image. */
export const ASPECT_RATIOS = [
  ...(['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '5:4', '4:5', '21:9', '9:21'] as const),
] as const;

const DEFAULT_RESOLUTION = '720p';
const DEFAULT_RATIO = '16:9';
/** Limits the long side to that of 16:9, so that no ratio costs more than its price. */
const MAX_RATIO = 16 / 9;

/** Undefined: the tables lack the order's resolution or ratio. */
export function frameSize(
  { resolution = DEFAULT_RESOLUTION, aspectRatio = 'auto' }: Pick<VideoOrder, 'resolution' | 'aspectRatio'>,
  picture?: PixelSize,
): PixelSize | undefined {
  const own = picture === undefined ? DEFAULT_RATIO : nearestRatio(picture, ASPECT_RATIOS);
  const word = aspectRatio === 'auto' ? own : ASPECT_RATIOS.find((known) => known === aspectRatio);
  const ratio = ratioOf(word);
  if (ratio === undefined || !Object.hasOwn(SHORT_SIDES, resolution)) return undefined;
  const short = SHORT_SIDES[resolution as keyof typeof SHORT_SIDES];
  const long = Math.min(short * Math.max(ratio, 1 / ratio), short * MAX_RATIO);
  return ratio >= 1
    ? { width: toEven(long), height: toEven(long / ratio) }
    : { width: toEven(long * ratio), height: toEven(long) };
}

/** Dimensions must be even: one chroma sample covers two pixels. */
export function toEven(pixels: number): number {
  return Math.max(2, Math.round(pixels / 2) * 2);
}
