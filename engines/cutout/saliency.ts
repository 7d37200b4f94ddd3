/**
 * Where the subject probably is, without anything learned: what cannot be reached from the picture's edge without crossing a
 * step of colour (minimum barrier distance), what differs from the colours along the edge, and what is near the middle.
 */
import { barrierDistance, UNREACHED } from './barrierDistance.ts';
import { type BorderSample, contrastTo, SURE } from './borderColours.ts';
import { boxMean, type LabPicture, type Size } from './picture.ts';

/** Of a summed barrier: where nothing crosses more, nothing stands out. */
const LEAST_BARRIER = 10;

/** 0–1 per pixel; undefined where the picture is all of a piece. */
export function saliencyOf(lab: LabPicture, border: readonly BorderSample[]): Float32Array | undefined {
  const barrier = barrierDistance(lab, seedsOf(border, lab));
  let most = 0;
  for (let pixel = 0; pixel < barrier.length; pixel += 1) most = Math.max(most, barrier[pixel] as number);
  if (most < LEAST_BARRIER || most >= UNREACHED) return undefined;
  normalise(barrier);
  const contrast = contrastTo(lab, border);
  normalise(contrast);
  const across = bell(lab.width, { middle: 0.5, spread: 0.33 });
  const down = bell(lab.height, { middle: 0.55, spread: 0.45 });
  const saliency = new Float32Array(barrier.length);
  for (let y = 0, pixel = 0; y < lab.height; y += 1) {
    for (let x = 0; x < lab.width; x += 1, pixel += 1) {
      const centre = (across[x] as number) * (down[y] as number);
      const evidence = 0.65 * (barrier[pixel] as number) + 0.35 * (contrast[pixel] as number);
      saliency[pixel] = evidence * (0.35 + 0.65 * centre);
    }
  }
  const smooth = boxMean(saliency, lab, 2);
  normalise(smooth);
  return smooth;
}

function bell(length: number, { middle, spread }: { middle: number; spread: number }): Float64Array {
  return Float64Array.from({ length }, (_, at) => Math.exp(-0.5 * ((at / length - middle) / spread) ** 2));
}

function seedsOf(border: readonly BorderSample[], { width, height }: Size): Uint8Array {
  const seeds = new Uint8Array(width * height);
  for (const sample of border) {
    if (sample.weight >= SURE) for (const pixel of sample.pixels) seeds[pixel] = 1;
  }
  return seeds;
}

const STEPS = 32_768;
const FULL_SHARE = 0.99;

/** Stretches it so that all but the strongest hundredth fill 0–1. */
function normalise(plane: Float32Array): void {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let pixel = 0; pixel < plane.length; pixel += 1) {
    const value = plane[pixel] as number;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const scale = (STEPS - 1) / Math.max(high - low, 1e-6);
  const histogram = new Uint32Array(STEPS);
  for (let pixel = 0; pixel < plane.length; pixel += 1) {
    const step = Math.floor(((plane[pixel] as number) - low) * scale);
    histogram[step] = (histogram[step] as number) + 1;
  }
  let step = 0;
  for (let below = histogram[0] as number; below <= plane.length * FULL_SHARE && step < STEPS - 1; ) {
    step += 1;
    below += histogram[step] as number;
  }
  const range = Math.max(step / scale, 1e-6);
  for (let pixel = 0; pixel < plane.length; pixel += 1) {
    plane[pixel] = Math.min(((plane[pixel] as number) - low) / range, 1);
  }
}
