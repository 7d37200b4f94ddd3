/**
 * Where the subject probably is, without anything learned: what cannot be reached from the picture's edge without crossing a
 * step of colour (minimum barrier distance), what differs from the colours along the edge, and what is near the middle.
 */
import { barrierDistance, UNREACHED } from './barrierDistance.ts';
import { type BorderSample, contrastTo } from './borderColours.ts';
import { boxMean, type LabPicture } from './picture.ts';

/** Of a summed barrier: where nothing crosses more, nothing stands out. */
const LEAST_BARRIER = 10;

/** 0–1 per pixel; undefined where the picture is all of a piece. */
export function saliencyOf(lab: LabPicture, border: readonly BorderSample[]): Float32Array | undefined {
  const { width, height } = lab;
  const distance = barrierDistance(lab, seedsOf(border, lab));
  const most = distance.reduce((high, value) => Math.max(high, value), 0);
  if (most < LEAST_BARRIER || most >= UNREACHED) return undefined;
  const barrier = normalised(distance);
  const contrast = normalised(contrastTo(lab, border));
  const saliency = new Float32Array(width * height);
  for (let y = 0, pixel = 0; y < height; y += 1) {
    const down = (y / height - 0.55) / 0.45;
    for (let x = 0; x < width; x += 1, pixel += 1) {
      const across = (x / width - 0.5) / 0.33;
      const centre = Math.exp(-0.5 * (across * across + down * down));
      const evidence = 0.65 * (barrier[pixel] as number) + 0.35 * (contrast[pixel] as number);
      saliency[pixel] = evidence * (0.35 + 0.65 * centre);
    }
  }
  return normalised(boxMean(saliency, lab, 2));
}

function seedsOf(border: readonly BorderSample[], { width, height }: LabPicture): Uint8Array {
  const seeds = new Uint8Array(width * height);
  for (const sample of border) {
    if (sample.weight >= 0.5) for (const pixel of sample.pixels) seeds[pixel] = 1;
  }
  return seeds;
}

/** Stretched so that all but the strongest hundredth fill 0–1. */
function normalised(plane: Float32Array): Float32Array {
  const sorted = plane.slice().sort();
  const low = sorted[0] ?? 0;
  const high = sorted[Math.floor(sorted.length * 0.99)] ?? 1;
  const range = Math.max(high - low, 1e-6);
  return plane.map((value) => Math.min((value - low) / range, 1));
}
