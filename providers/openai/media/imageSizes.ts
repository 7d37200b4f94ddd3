/** In which sizes a family of models makes pictures, and how it is told. */
import { type PixelSize, ratioOf } from '../../shared/imageSizes.ts';

/** What was ordered: pixels, or a shape and a tier of the model. */
export interface WantedSize {
  width?: number | undefined;
  height?: number | undefined;
  /** "16:9". */
  aspectRatio?: string | undefined;
  /** "1K", "2K", "4K". */
  resolution?: string | undefined;
  /** Of what is edited: its shape counts where only a tier was ordered. */
  source?: { width: number; height: number } | undefined;
}

export type Sizing =
  /** One of these. */
  | { kind: 'listed'; sizes: readonly string[] }
  /** Any within the bounds of `gpt-image-2` and later. */
  | { kind: 'bounded' }
  /** As ordered. */
  | { kind: 'any' };

/**
 * Bounds of `gpt-image-2`: both edges divisible by 16, none longer than 3,840, at most 3:1, and not fewer than 655,360
 * or more than 8,294,400 pixels in all (OpenAI's guide to image generation).
 */
const BOUNDS = { step: 16, longest: 3_840, steepest: 3, least: 655_360, most: 8_294_400 } as const;

/** PixelSize of a tier, whatever the shape. */
const TIERS: Readonly<Record<string, number>> = { '1K': 1_024 ** 2, '2K': 2_048 ** 2, '4K': BOUNDS.most };

/** `WIDTHxHEIGHT`; undefined where nothing was ordered and the service chooses. */
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

/** Rounding may have gone a step over a bound: the longer edge gives way. */
function within(pixels: PixelSize): PixelSize {
  let { width, height } = pixels;
  const lengthen = (by: number) => {
    if (width >= height) width += by;
    else height += by;
  };
  while (width * height > BOUNDS.most || Math.max(width, height) > BOUNDS.steepest * Math.min(width, height)) {
    lengthen(-BOUNDS.step);
  }
  // The shorter edge grows: the shape may be at its steepest.
  while (width * height < BOUNDS.least) {
    if (width < height) width += BOUNDS.step;
    else height += BOUNDS.step;
  }
  return { width, height };
}

/** The one whose shape is nearest, and of those the one whose area is. */
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
