/** Sizes of pictures in the forms in which services ask for them: pixels, or a ratio from a list. */

export interface PixelSize {
  width: number;
  height: number;
}

/** Pixels of the side of a square. */
const TIERS: Readonly<Record<string, number>> = { '0.5K': 512, '1K': 1_024, '2K': 2_048, '4K': 4_096 };

/** What nearly all models of pictures work in. */
const STEP = 16;

/** `ratio`: "16:9". Undefined for what is no ratio ("auto"). */
export function ratioOf(ratio: string | undefined): number | undefined {
  const [, width, height] = /^(\d{1,4}):(\d{1,4})$/.exec(ratio ?? '') ?? [];
  const value = Number(width) / Number(height);
  return Number.isFinite(value) && value > 0 ? value : undefined;
}

/** As many pixels as a square of the tier ("1K" where it is unknown or none is named), in steps of 16. */
export function sizeOfRatio(ratio: number, tier: string | undefined): PixelSize {
  const side = TIERS[tier ?? '1K'] ?? 1_024;
  const width = side * Math.sqrt(ratio);
  const inSteps = (pixels: number) => Math.max(STEP, Math.round(pixels / STEP) * STEP);
  return { width: inSteps(width), height: inSteps(width / ratio) };
}

/** The one of the list that is the least different, in whichever direction; the list is not empty. */
export function nearestRatio<Ratio extends string>(size: PixelSize, ratios: readonly [Ratio, ...Ratio[]]): Ratio {
  const wanted = Math.log(size.width / size.height);
  const distance = (ratio: string) => Math.abs(Math.log(ratioOf(ratio) ?? Number.MAX_VALUE) - wanted);
  return ratios.reduce((best, each) => (distance(each) < distance(best) ? each : best), ratios[0]);
}
