/**
 * Image of the simulator: a test card labelled as one. Prompt and seed change only its colours. Equal orders give equal
 * bytes.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Colour } from '../../domain/images/editing/plan.ts';
import type { ImageWork } from '../../engines/images/imageWork.ts';
import { FONT_PATH } from '../local/video/fontWidths.ts';
import { ratioOf } from '../shared/imageSizes.ts';
import type { ImageOrder, MadeImage, MediaCallContext, MediaProvider } from '../shared/mediaProvider.ts';

/** Longer side of each tier in pixels. */
const TIERS: Readonly<Record<string, number>> = { '1K': 1_024, '2K': 2_048, '4K': 4_096 };
const USUAL = 1_024;
/** Sides are multiples of it, as those of image models. */
const DIVISOR = 8;
const SMALLEST = 16;
const BARS = 8;
/** Largest ratio; others are limited to it. */
const MAX_RATIO = 8;

export function createTestCards(work: ImageWork): MediaProvider {
  return {
    async makeImages(order, context) {
      const made: MadeImage[] = [];
      for (let index = 0; index < order.count; index += 1) made.push(await draw(work, { order, index }, context));
      return made;
    },
  };
}

async function draw(
  work: ImageWork,
  { order, index }: { order: ImageOrder; index: number },
  { workFolder, signal }: MediaCallContext,
): Promise<MadeImage> {
  const { width, height } = cardSize(order);
  const seed = (order.seed ?? 0) + index;
  const hash = createHash('sha256').update(order.prompt).digest('hex').slice(0, 16);
  const input = {
    ...{ width, height },
    bars: barsOf(`${hash} ${seed}`),
    lines: ['SIMULATOR – no image model', `${width} × ${height}, seed ${seed}`, `prompt ${hash}`],
    fontPath: FONT_PATH,
    format: order.format,
    target: join(workFolder, `card-${index}.${order.format}`),
  };
  const { path, contentType } = await work.run('testCard', input, { signal });
  return { path, contentType };
}

/** Size as ordered, in pixels or by ratio and resolution. */
export function cardSize({
  width,
  height,
  aspectRatio,
  resolution,
}: Pick<ImageOrder, 'width' | 'height' | 'aspectRatio' | 'resolution'>): { width: number; height: number } {
  if (width !== undefined && height !== undefined) return { width, height };
  const longer = (resolution === undefined ? undefined : TIERS[resolution]) ?? USUAL;
  const ratio = Math.min(MAX_RATIO, Math.max(1 / MAX_RATIO, ratioOf(aspectRatio) ?? 1));
  const side = (pixels: number) => Math.max(SMALLEST, Math.round(pixels / DIVISOR) * DIVISOR);
  return { width: side(longer * Math.min(1, ratio)), height: side(longer / Math.max(1, ratio)) };
}

function barsOf(theme: string): Colour[] {
  const digest = createHash('sha256').update(theme).digest();
  return Array.from({ length: BARS }, (_, bar) => {
    const [red = 0, green = 0, blue = 0] = digest.subarray(bar * 3, bar * 3 + 3);
    return { red, green, blue };
  });
}
