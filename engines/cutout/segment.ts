/** Which pixels of a picture of working size are the subject's. */

import { barrierDistance } from './barrierDistance.ts';
import { type BorderSample, borderColours } from './borderColours.ts';
import { BACKGROUND, grabCut, PROBABLY_BACKGROUND, PROBABLY_SUBJECT, SUBJECT } from './grabCut.ts';
import {
  chosen,
  distanceTo,
  fillHoles,
  keepSubjects,
  piecesOf,
  withoutIslands,
  withoutThreads,
} from './mask.ts';
import { withoutOpenings } from './openings.ts';
import { type LabPicture, type Picture, type Size, toLab } from './picture.ts';
import { saliencyOf } from './saliency.ts';

/** Of the threshold between both sides: a subject that is taken for background is lost, the other mistake is corrected. */
const CAUTION = 0.85;

const ROUNDS = 3;
/** Of the coarse picture: how far on either side of the first edge the second cut may lie. */
const LEEWAY_SHARE = 0.03;
/** Shares of the picture: a larger hole is one, a smaller piece is none of its own. */
const HOLE_SHARE = 0.02;
const CRACK_SHARE = 0.0004;
const ISLAND_SHARE = 0.002;

/** Undefined where nothing stands out. The subject is found in `coarse`, and its edge in `picture`. */
export function segment(picture: Picture, coarse: Picture, cut = grabCut): Uint8Array | undefined {
  const lab = toLab(coarse);
  const border = borderColours(lab);
  const saliency = saliencyOf(lab, border);
  if (saliency === undefined) return undefined;
  const prior = priorOf(saliency);
  const first = cutBoth(coarse, prior, cut);
  if (first === undefined) return undefined;
  const own = withoutSides(first, { lab, border, prior });
  const filled = fillHoles(keepSubjects(own, coarse, saliency), coarse, own.length * HOLE_SHARE);
  const kept = withoutOpenings(filled, { lab, border });
  const second = cutBoth(picture, enlarged(nearEdge(kept, coarse), coarse, picture), cut);
  if (second === undefined) return undefined;
  const whole = withoutIslands(second, picture, second.length * ISLAND_SHARE);
  return fillHoles(whole, picture, whole.length * CRACK_SHARE);
}

/** Undefined where one side is missing. */
function cutBoth(picture: Picture, marks: Uint8Array, cut: typeof grabCut): Uint8Array | undefined {
  let subjects = 0;
  for (const mark of marks) subjects += mark & 1;
  return subjects === 0 || subjects === marks.length ? undefined : cut(picture, marks, ROUNDS);
}

function priorOf(saliency: Float32Array): Uint8Array {
  const threshold = otsu(saliency) * CAUTION;
  const sure = threshold + 0.75 * (1 - threshold);
  const prior = new Uint8Array(saliency.length);
  for (let pixel = 0; pixel < prior.length; pixel += 1) {
    const value = saliency[pixel] as number;
    if (value < threshold * 0.3) prior[pixel] = BACKGROUND;
    else if (value > sure) prior[pixel] = SUBJECT;
    else prior[pixel] = value < threshold ? PROBABLY_BACKGROUND : PROBABLY_SUBJECT;
  }
  return prior;
}

function nearEdge(mask: Uint8Array, size: Size): Uint8Array {
  const inside = distanceTo(mask, size, 0);
  const outside = distanceTo(mask, size, 1);
  const leeway = Math.max(size.width, size.height) * LEEWAY_SHARE;
  const marks = new Uint8Array(mask.length);
  for (let pixel = 0; pixel < marks.length; pixel += 1) {
    if (mask[pixel] === 1) marks[pixel] = (inside[pixel] as number) > leeway ? SUBJECT : PROBABLY_SUBJECT;
    else marks[pixel] = (outside[pixel] as number) > leeway ? BACKGROUND : PROBABLY_BACKGROUND;
  }
  return marks;
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
  if (!mask.some((value, pixel) => value === 1 && sides[pixel] === 1)) return mask;
  const reach = barrierDistance(lab, sides);
  const even = new Uint8Array(mask.length);
  for (let pixel = 0; pixel < even.length; pixel += 1) {
    even[pixel] = mask[pixel] === 1 && (reach[pixel] as number) < SHADING ? 1 : 0;
  }
  const { labels, pixels } = piecesOf(withoutThreads(even, lab, 2), lab, 1);
  const touching = new Uint8Array(pixels.length);
  const sure = new Uint32Array(pixels.length);
  for (let pixel = 0; pixel < labels.length; pixel += 1) {
    const label = labels[pixel] as number;
    if (sides[pixel] === 1) touching[label] = 1;
    if (prior[pixel] === SUBJECT) sure[label] = (sure[label] as number) + 1;
  }
  const furniture = Uint8Array.from(pixels, (count, label) =>
    label > 0 && touching[label] === 1 && (sure[label] as number) < count * 0.02 ? 1 : 0,
  );
  const taken = chosen(labels, furniture);
  return mask.map((value, pixel) => (taken[pixel] === 1 ? 0 : value));
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
