/** Chooses the size of an image that a model family supports. */
import type { PixelSize } from '../../../domain/images/images.ts';
import { ratioOf } from '../../shared/imageSizes.ts';

/** Requested size: pixels, or a ratio and a tier. */
export interface WantedSize {
  width?: number | undefined;
  height?: number | undefined;
  /** For example "16:9". */
  aspectRatio?: string | undefined;
  /** "1K", "2K", "4K". */
  resolution?: string | undefined;
  /** Size of the edited image: its ratio applies if only a tier is given. */
  source?: { width: number; height: number } | undefined;
}

export type Sizing =
  | { kind: 'listed'; sizes: readonly string[] }
  /** Any size within the bounds of `gpt-image-2` and later. */
  | { kind: 'bounded' }
  | { kind: 'any' };

/**
 * Bounds of `gpt-image-2` (OpenAI's guide to image generation): edges divisible by 16 and at most 3,840 long. Ratios
 * are at most 3:1, with 655,360 to 8,294,400 pixels in all.
 */
const BOUNDS = { step: 16, longest: 3_840, steepest: 3, least: 655_360, most: 8_294_400 } as const;

/** Pixels of a tier, for any ratio. */
const TIERS: Readonly<Record<string, number>> = { '1K': 1_024 ** 2, '2K': 2_048 ** 2, '4K': BOUNDS.most };

/** `WIDTHxHEIGHT`; undefined: none was requested, so the service chooses. */
export function sizeOf(wanted: WantedSize, sizing: Sizing): string | undefined {
  const pixels = pixelsOf(wanted);
  if (pixels === undefined) return undefined;
  switch (sizing.kind) {
    case 'listed':
      return nearest(pixels, sizing.sizes);
    case 'bounded':
      return written(bounded(pixels));
    case 'any':
      return written(pixels);
  }
}

function pixelsOf({ width, height, aspectRatio, resolution, source }: WantedSize): PixelSize | undefined {
  if (width !== undefined && height !== undefined) return { width, height };
  const ofSource = source ? source.width / source.height : 1;
  const shape = ratioOf(aspectRatio) ?? (resolution === undefined ? undefined : ofSource);
  if (shape === undefined) return undefined;
  const area = TIERS[resolution ?? '1K'] ?? TIERS['1K'] ?? BOUNDS.least;
  return { width: stepped(Math.sqrt(area * shape)), height: stepped(Math.sqrt(area / shape)) };
}

function bounded({ width, height }: PixelSize): PixelSize {
  const shape = clamp(width / height, 1 / BOUNDS.steepest, BOUNDS.steepest);
  const most = Math.min(BOUNDS.most, BOUNDS.longest ** 2 / Math.max(shape, 1 / shape));
  const area = clamp(width * height, BOUNDS.least, most);
  const across = stepped(Math.sqrt(area * shape));
  return within({ width: across, height: stepped(Math.sqrt(area / shape)) });
}

/** Rounding may exceed a bound by a step; then the longer edge shrinks. */
function within(pixels: PixelSize): PixelSize {
  let { width, height } = pixels;
  const lengthen = (by: number) => {
    if (width >= height) width += by;
    else height += by;
  };
  while (width * height > BOUNDS.most || Math.max(width, height) > BOUNDS.steepest * Math.min(width, height)) {
    lengthen(-BOUNDS.step);
  }
  // The shorter edge grows, since the ratio may be at its limit.
  while (width * height < BOUNDS.least) {
    if (width < height) width += BOUNDS.step;
    else height += BOUNDS.step;
  }
  return { width, height };
}

/** Chooses the nearest ratio, then the nearest area. */
function nearest(pixels: PixelSize, sizes: readonly string[]): string | undefined {
  const distance = (size: string) => {
    const [width = 1, height = 1] = size.split('x').map(Number);
    const shapes = Math.abs(Math.log((width / height) * (pixels.height / pixels.width)));
    const areas = Math.abs(Math.log((width * height) / (pixels.width * pixels.height)));
    return shapes * 100 + areas;
  };
  return [...sizes].sort((one, other) => distance(one) - distance(other))[0];
}

function written({ width, height }: PixelSize): string {
  return `${width}x${height}`;
}

function stepped(edge: number): number {
  return Math.max(BOUNDS.step, Math.round(edge / BOUNDS.step) * BOUNDS.step);
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
