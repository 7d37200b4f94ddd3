/** Image sizes in the forms that services take: pixels, or a ratio from a list. */
import type { PixelSize } from '../../domain/images/images.ts';

/** Side of a square of each tier, in pixels. */
const TIERS: Readonly<Record<string, number>> = { '0.5K': 512, '1K': 1_024, '2K': 2_048, '4K': 4_096 };

/** Step of nearly all image models. */
const STEP = 16;

/** `ratio`: "16:9". Undefined for anything else ("auto"). */
export function ratioOf(ratio: string | undefined): number | undefined {
  const [, width, height] = /^(\d{1,4}):(\d{1,4})$/.exec(ratio ?? '') ?? [];
  const value = Number(width) / Number(height);
  return Number.isFinite(value) && value > 0 ? value : undefined;
}

/** Size with the pixels of the tier's square (default and fallback "1K"), in steps of 16. */
export function sizeOfRatio(ratio: number, tier: string | undefined): PixelSize {
  const side = TIERS[tier ?? '1K'] ?? 1_024;
  const width = side * Math.sqrt(ratio);
  const inSteps = (pixels: number) => Math.max(STEP, Math.round(pixels / STEP) * STEP);
  return { width: inSteps(width), height: inSteps(width / ratio) };
}

/** Returns the ratio of the list with the smallest relative difference. The list is not empty. */
export function nearestRatio<Ratio extends string>(size: PixelSize, ratios: readonly [Ratio, ...Ratio[]]): Ratio {
  const wanted = Math.log(size.width / size.height);
  const distance = (ratio: string) => Math.abs(Math.log(ratioOf(ratio) ?? Number.MAX_VALUE) - wanted);
  return ratios.reduce((best, each) => (distance(each) < distance(best) ? each : best), ratios[0]);
}
