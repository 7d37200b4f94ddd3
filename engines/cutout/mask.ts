/** Cleaning of a mask of ones and zeros: which of its pieces are the subject, and which holes in it are none. */
import cv, { type Mat } from '@techstark/opencv-js';
import type { Size } from './picture.ts';

export interface Pieces {
  /** A number from 1 per pixel, 0 for what is in no piece. */
  labels: Int32Array;
  /** Of each number how many pixels it has. */
  pixels: Int32Array;
}

/** OpenCV's words on a piece: left, top, width, height, pixels. */
const WORDS = 5;

/** Connected pieces (by sides) of `value`. */
export function piecesOf(mask: Uint8Array, size: Size, value: 0 | 1): Pieces {
  return withMats(4, ([labels, stats, centres, source]) => {
    fillIn(source, { mask, size, value });
    cv.connectedComponentsWithStats(source, labels, stats, centres, 4, cv.CV_32S);
    const words = stats.data32S as Int32Array;
    const pixels = Int32Array.from({ length: stats.rows }, (_, label) => words[WORDS * label + 4] as number);
    // A copy: what `data32S` shows is the wasm's memory.
    return { labels: (labels.data32S as Int32Array).slice(), pixels };
  });
}

/** How far each pixel is from the next one of `value`, in pixels (within 5 %). */
export function distanceTo(mask: Uint8Array, size: Size, value: 0 | 1): Float32Array {
  return withMats(2, ([distance, source]) => {
    fillIn(source, { mask, size, value: value === 1 ? 0 : 1 });
    cv.distanceTransform(source, distance, cv.DIST_L2, cv.DIST_MASK_5);
    return (distance.data32F as Float32Array).slice();
  });
}

type Many = [Mat, Mat, Mat, Mat];

function withMats<T>(count: 2 | 4, work: (mats: Many) => T): T {
  const mats = Array.from({ length: count }, () => new cv.Mat());
  try {
    return work(mats as Many);
  } finally {
    for (const mat of mats) mat.delete();
  }
}

/** Ones where `mask` has `value`. */
function fillIn(mat: Mat, { mask, size, value }: { mask: Uint8Array; size: Size; value: 0 | 1 }): void {
  mat.create(size.height, size.width, cv.CV_8UC1);
  const data = mat.data as Uint8Array;
  if (value === 1) data.set(mask);
  else for (let pixel = 0; pixel < data.length; pixel += 1) data[pixel] = 1 - (mask[pixel] as number);
}

/** What of the heaviest piece's weight another must have to be kept beside it. */
const KEPT_SHARE = 0.2;

/** Keeps the piece of the greatest weight (the sum of those of its pixels) and those that come near it. */
export function keepSubjects(mask: Uint8Array, size: Size, weights: Float32Array): Uint8Array {
  const { labels, pixels } = piecesOf(mask, size, 1);
  const sums = new Float64Array(pixels.length);
  for (let pixel = 0; pixel < labels.length; pixel += 1) {
    const label = labels[pixel] as number;
    if (label > 0) sums[label] = (sums[label] as number) + (weights[pixel] as number);
  }
  const most = sums.reduce((high, weight) => Math.max(high, weight), 0);
  const kept = Uint8Array.from(sums, (weight) => (weight > 0 && weight >= most * KEPT_SHARE ? 1 : 0));
  return chosen(labels, kept);
}

/** Takes off pieces of fewer pixels. */
export function withoutIslands(mask: Uint8Array, size: Size, least: number): Uint8Array {
  const { labels, pixels } = piecesOf(mask, size, 1);
  return chosen(
    labels,
    Uint8Array.from(pixels, (count, label) => (label > 0 && count >= least ? 1 : 0)),
  );
}

/** Fills holes of at most `most` pixels. What touches the edge of the picture is no hole. */
export function fillHoles(mask: Uint8Array, size: Size, most: number): Uint8Array {
  const { labels, pixels } = piecesOf(mask, size, 0);
  const filled = Uint8Array.from(pixels, (count) => (count <= most ? 1 : 0));
  const { width, height } = size;
  for (let x = 0; x < width; x += 1) {
    filled[labels[x] as number] = 0;
    filled[labels[(height - 1) * width + x] as number] = 0;
  }
  for (let y = 0; y < height; y += 1) {
    filled[labels[y * width] as number] = 0;
    filled[labels[(y + 1) * width - 1] as number] = 0;
  }
  // What is in no piece of zeros is one.
  filled[0] = 1;
  return chosen(labels, filled);
}

/** Per pixel what its label has. */
export function chosen(labels: Int32Array, of: Uint8Array): Uint8Array {
  const mask = new Uint8Array(labels.length);
  for (let pixel = 0; pixel < mask.length; pixel += 1) mask[pixel] = of[labels[pixel] as number] as number;
  return mask;
}

/** Opening by a disc of `radius`: takes off what is thinner, and lets the rest be as it was. */
export function withoutThreads(mask: Uint8Array, size: Size, radius: number): Uint8Array {
  const inside = distanceTo(mask, size, 0);
  const opened = new Uint8Array(mask.length);
  for (let pixel = 0; pixel < opened.length; pixel += 1) {
    opened[pixel] = (inside[pixel] as number) > radius ? 1 : 0;
  }
  const grown = distanceTo(opened, size, 1);
  for (let pixel = 0; pixel < opened.length; pixel += 1) {
    opened[pixel] = mask[pixel] === 1 && (grown[pixel] as number) <= radius ? 1 : 0;
  }
  return opened;
}
