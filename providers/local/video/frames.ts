/** How large a picture is and how many of them an order has. */
import type { VideoOrder } from '../../../domain/generation/videoOrder.ts';

export const FRAMES_PER_SECOND = 24;

export interface Size {
  /** Pixels, even: chroma has one sample for two. */
  width: number;
  height: number;
}

/**
 * The short side in pixels by the word of an order. There is nothing larger: a scene of 1440p comes so near to the memory of a
 * run that some would not fit, and one of 4k goes beyond it.
 */
export const SHORT_SIDES = {
  '256p': 256,
  '360p': 360,
  '480p': 480,
  '540p': 540,
  '720p': 720,
  '1080p': 1080,
} as const satisfies Record<string, number>;

/** Those that an order may name; `auto` takes the nearest of them to the first picture of the order. */
export const ASPECT_RATIOS = [
  ...['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '5:4', '4:5', '21:9', '9:21'],
] as const;

const DEFAULT_RESOLUTION = '720p';
const DEFAULT_RATIO = 16 / 9;
/** However wide it is, a picture is no longer than one of 16:9, so that no ratio costs more than what it is sold for. */
const LONGEST_RATIO = 16 / 9;

/** Undefined: the order names a resolution or a ratio that is not in the tables. */
export function frameSize(
  order: Pick<VideoOrder, 'resolution' | 'aspectRatio'>,
  picture?: Size,
): Size | undefined {
  const resolution = order.resolution ?? DEFAULT_RESOLUTION;
  if (!Object.hasOwn(SHORT_SIDES, resolution)) return undefined;
  const short = SHORT_SIDES[resolution as keyof typeof SHORT_SIDES];
  const ratio = ratioOf(order.aspectRatio ?? 'auto', picture);
  if (ratio === undefined) return undefined;
  const long = Math.min(short * Math.max(ratio, 1 / ratio), short * LONGEST_RATIO);
  return ratio >= 1
    ? { width: even(long), height: even(long / ratio) }
    : { width: even(long * ratio), height: even(long) };
}

function ratioOf(word: string, picture: Size | undefined): number | undefined {
  if (word !== 'auto') return ASPECT_RATIOS.some((known) => known === word) ? ratioIn(word) : undefined;
  if (picture === undefined) return DEFAULT_RATIO;
  const own = picture.width / picture.height;
  const distance = (ratio: number) => Math.abs(Math.log(ratio / own));
  return ASPECT_RATIOS.map(ratioIn).reduce((best, each) => (distance(each) < distance(best) ? each : best));
}

function ratioIn(word: string): number {
  const [width = 1, height = 1] = word.split(':').map(Number);
  return width / height;
}

export function even(pixels: number): number {
  return Math.max(2, Math.round(pixels / 2) * 2);
}
