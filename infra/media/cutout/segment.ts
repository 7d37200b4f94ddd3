/** Which pixels of a picture of working size are the subject's. */

import { barrierDistance } from './barrierDistance.ts';
import { type BorderSample, borderColours } from './borderColours.ts';
import { BACKGROUND, grabCut, PROBABLY_BACKGROUND, PROBABLY_SUBJECT, SUBJECT } from './grabCut.ts';
import { distanceTo, fillHoles, keepSubjects, piecesOf, withoutThreads } from './mask.ts';
import { type LabPicture, type Picture, toLab } from './picture.ts';
import { saliencyOf } from './saliency.ts';

/** Of the threshold between both sides: a subject that is taken for background is lost, the other mistake is corrected. */
const CAUTION = 0.85;

export const debug: Record<string, Uint8Array> = {};

export function segment(picture: Picture, coarse: Picture): Uint8Array {
  const lab = toLab(coarse);
  const border = borderColours(lab);
  const saliency = saliencyOf(lab, border);
  const threshold = otsu(saliency) * CAUTION;
  const prior = Uint8Array.from(saliency, (value) => {
    if (value < threshold * 0.3) return BACKGROUND;
    if (value > threshold + 0.75 * (1 - threshold)) return SUBJECT;
    return value < threshold ? PROBABLY_BACKGROUND : PROBABLY_SUBJECT;
  });
  debug.prior = prior;
  const first = grabCut(coarse, prior, 3);
  debug.first = first;
  const area = coarse.width * coarse.height;
  const own = withoutSides(first, { lab, border, prior });
  const kept = fillHoles(keepSubjects(own, coarse, saliency), coarse, area * 0.02);
  debug.kept = kept;
  const inside = distanceTo(kept, coarse, 0);
  const outside = distanceTo(kept, coarse, 1);
  const band = Math.max(coarse.width, coarse.height) * 0.03;
  const marks = Uint8Array.from(kept, (value, pixel) => {
    if (value === 1) return (inside[pixel] as number) > band ? SUBJECT : PROBABLY_SUBJECT;
    return (outside[pixel] as number) > band ? BACKGROUND : PROBABLY_BACKGROUND;
  });
  debug.marks = marks;
  const second = grabCut(picture, enlarged(marks, coarse, picture), 3);
  debug.second = second;
  return second;
}

/** Of a summed barrier: what is no more than shading. */
const SHADING = 16;

/**
 * A dark table has the colour of a dark helmet, and stays in the mask for that. What reaches in evenly from a side, and has
 * nothing in it of which it is sure that it is the subject, is furniture.
 */
function withoutSides(mask: Uint8Array, { lab, border, prior }: Known): Uint8Array {
  const sides = new Uint8Array(mask.length);
  for (const { pixels } of border) for (const pixel of pixels) sides[pixel] = 1;
  const reach = barrierDistance(lab, sides);
  const even = mask.map((value, pixel) => (value === 1 && (reach[pixel] as number) < SHADING ? 1 : 0));
  const broad = withoutThreads(even, lab, 2);
  debug.broad = broad;
  const { labels, pieces } = piecesOf(broad, lab, { value: 1 });
  const touching = pieces.map(() => false);
  const sure = pieces.map(() => 0);
  labels.forEach((label, pixel) => {
    if (label === 0) return;
    if (sides[pixel] === 1) touching[label - 1] = true;
    if (prior[pixel] === SUBJECT) sure[label - 1] = (sure[label - 1] as number) + 1;
  });
  const furniture = pieces.map(
    ({ pixels }, index) => touching[index] && (sure[index] as number) < pixels * 0.02,
  );
  return mask.map((value, pixel) => (furniture[(labels[pixel] as number) - 1] === true ? 0 : value));
}

interface Known {
  lab: LabPicture;
  border: readonly BorderSample[];
  prior: Uint8Array;
}

function enlarged(marks: Uint8Array, from: Picture, to: Picture): Uint8Array {
  const large = new Uint8Array(to.width * to.height);
  for (let y = 0, pixel = 0; y < to.height; y += 1) {
    const row = Math.min(Math.floor((y * from.height) / to.height), from.height - 1) * from.width;
    for (let x = 0; x < to.width; x += 1, pixel += 1) {
      large[pixel] = marks[row + Math.min(Math.floor((x * from.width) / to.width), from.width - 1)] as number;
    }
  }
  return large;
}

const STEPS = 256;

/** The threshold that parts the values best into two groups (Otsu 1979). */
function otsu(values: Float32Array): number {
  const histogram = new Float64Array(STEPS);
  for (const value of values) {
    const step = Math.min(Math.floor(value * STEPS), STEPS - 1);
    histogram[step] = (histogram[step] as number) + 1;
  }
  const total = histogram.reduce((sum, count, step) => sum + count * step, 0);
  let best = { between: -1, step: 0 };
  let below = 0;
  let sum = 0;
  for (let step = 0; step < STEPS - 1; step += 1) {
    below += histogram[step] as number;
    sum += step * (histogram[step] as number);
    const above = values.length - below;
    if (below === 0 || above === 0) continue;
    const between = below * above * (sum / below - (total - sum) / above) ** 2;
    if (between > best.between) best = { between, step };
  }
  return (best.step + 1) / STEPS;
}
