/** Writes alpha into a picture of full size, and takes the background's colour out of what is half transparent. */

import type { Lines } from './localLines.ts';
import { type Picture, type Size, windowOf } from './picture.ts';
import type { Samples } from './sampling.ts';
import { INSIDE, OUTSIDE, UNKNOWN } from './trimap.ts';

export interface Matte {
  /** Of working size. */
  picture: Picture;
  trimap: Uint8Array;
  lines: Lines;
  samples: Samples;
}

/** What is nearly one or nearly nothing is meant so: noise of the background is no veil. */
const FLOOR = 0.06;
const CEILING = 0.94;

/** `rgba` is of `size`, and is changed; an alpha that it had is multiplied. */
export function finish(rgba: Uint8Array, size: Size, matte: Matte): void {
  const { picture, trimap } = matte;
  const { width } = picture;
  const [columns, rows] = [placesOf(size.width, width), placesOf(size.height, picture.height)];
  const mix = mixer(rgba, matte, { columns, rows });
  const marks = new Uint8Array(width);
  for (let y = 0; y < size.height; y += 1) {
    if (y === 0 || rows.first[y] !== rows.first[y - 1]) {
      markRow(marks, trimap, {
        top: (rows.first[y] as number) * width,
        bottom: (rows.second[y] as number) * width,
      });
    }
    for (let column = 0, end = 0; column < width; column = end) {
      const mark = marks[column];
      end = endOfRun(marks, column);
      const from = y * size.width + (columns.starts[column] as number);
      const to = y * size.width + (columns.starts[end] as number);
      if (mark === OUTSIDE) rgba.fill(0, 4 * from, 4 * to);
      if (mark !== UNKNOWN) continue;
      for (let pixel = from; pixel < to; pixel += 1) mix(pixel, pixel - y * size.width, y);
    }
  }
}

function endOfRun(marks: Uint8Array, start: number): number {
  let end = start + 1;
  while (end < marks.length && marks[end] === marks[start]) end += 1;
  return end;
}

/** Between two rows: what all four corners of each square are, UNKNOWN where they differ. */
function markRow(
  marks: Uint8Array,
  trimap: Uint8Array,
  { top, bottom }: { top: number; bottom: number },
): void {
  for (let column = 0; column < marks.length; column += 1) {
    const right = Math.min(column + 1, marks.length - 1);
    const mark = trimap[top + column] as number;
    const even =
      mark === trimap[top + right] && mark === trimap[bottom + column] && mark === trimap[bottom + right];
    marks[column] = even ? mark : UNKNOWN;
  }
}

/** Along one side: between which two places of the working size each of the full size lies. */
interface Places {
  first: Int32Array;
  second: Int32Array;
  /** How far from the first to the second, 0–1. */
  share: Float64Array;
  /** Of each place of the working size, the first of the full size that lies behind it; and the end. */
  starts: Int32Array;
}

function placesOf(full: number, working: number): Places {
  const first = new Int32Array(full);
  const second = new Int32Array(full);
  const share = new Float64Array(full);
  const starts = new Int32Array(working + 1).fill(full);
  for (let at = full - 1; at >= 0; at -= 1) {
    const place = Math.min(Math.max(((at + 0.5) * working) / full - 0.5, 0), working - 1);
    const before = Math.floor(place);
    first[at] = before;
    second[at] = Math.min(before + 1, working - 1);
    share[at] = place - before;
    starts[before] = at;
  }
  // Behind a place that has none of the full size, the next one's begin.
  for (let at = working - 1; at >= 0; at -= 1)
    starts[at] = Math.min(starts[at] as number, starts[at + 1] as number);
  return { first, second, share, starts };
}

interface Grid {
  columns: Places;
  rows: Places;
}

/** Of a pixel of the full size and its column and row. */
type Mix = (pixel: number, x: number, y: number) => void;

function mixer(rgba: Uint8Array, matte: Matte, { columns, rows }: Grid): Mix {
  const { lines } = matte;
  const { slots } = matte.samples.band;
  const { width } = matte.picture;
  const colours = sideColours(matte);
  // Where corners differ, one of them was in the band: all four have slots.
  const corners = new Int32Array(4);
  const shares = new Float64Array(4);
  const between = (plane: Float32Array, size: number, member: number): number =>
    (shares[0] as number) * (plane[size * (corners[0] as number) + member] as number) +
    (shares[1] as number) * (plane[size * (corners[1] as number) + member] as number) +
    (shares[2] as number) * (plane[size * (corners[2] as number) + member] as number) +
    (shares[3] as number) * (plane[size * (corners[3] as number) + member] as number);
  return (pixel, x, y) => {
    const to = 4 * pixel;
    place(x, y);
    let line = between(lines, 4, 3);
    for (let channel = 0; channel < 3; channel += 1) {
      line += (between(lines, 4, channel) * (rgba[to + channel] as number)) / 255;
    }
    const alpha = Math.min(Math.max((line - FLOOR) / (CEILING - FLOOR), 0), 1);
    // All of it is the subject's: its colour is its own.
    if (alpha === 1) return;
    const opacity = Math.round(alpha * (rgba[to + 3] as number));
    if (opacity === 0) {
      for (let channel = 0; channel < 4; channel += 1) rgba[to + channel] = 0;
      return;
    }
    rgba[to + 3] = opacity;
    for (let corner = 0; corner < 4; corner += 1) colours.findAt(corners[corner] as number);
    for (let channel = 0; channel < 3; channel += 1) {
      const subject = between(colours.values, 6, channel);
      const background = between(colours.values, 6, 3 + channel);
      const own = rgba[to + channel] as number;
      // Least squares: the mixture must come out, and the colour stay near the subject's.
      const clean = subject + alpha * (own - alpha * subject - (1 - alpha) * background);
      rgba[to + channel] = Math.min(Math.max(Math.round(clean), 0), 255);
    }
  };

  function place(x: number, y: number): void {
    const top = (rows.first[y] as number) * width;
    const bottom = (rows.second[y] as number) * width;
    const left = columns.first[x] as number;
    const right = columns.second[x] as number;
    const down = rows.share[y] as number;
    const across = columns.share[x] as number;
    corners[0] = slots[top + left] as number;
    corners[1] = slots[top + right] as number;
    corners[2] = slots[bottom + left] as number;
    corners[3] = slots[bottom + right] as number;
    shares[0] = (1 - down) * (1 - across);
    shares[1] = (1 - down) * across;
    shares[2] = down * (1 - across);
    shares[3] = down * across;
  }
}

const RADIUS = 2;

interface SideColours {
  /** By slot the subject's colour there, then the background's. */
  values: Float32Array;
  /** Sets those of a slot, unless they are there. */
  findAt(slot: number): void;
}

/** In the band each is the mean of the samples around; not all are ever asked for. */
function sideColours({ picture, trimap, samples }: Matte): SideColours {
  const { rgb } = picture;
  const { pixels, slots } = samples.band;
  const values = new Float32Array(pixels.length * 6);
  const found = new Uint8Array(pixels.length);
  const add = (slot: number, subject: number, background: number): void => {
    for (let channel = 0; channel < 3; channel += 1) {
      const at = 6 * slot + channel;
      values[at] = (values[at] as number) + (rgb[3 * subject + channel] as number);
      values[at + 3] = (values[at + 3] as number) + (rgb[3 * background + channel] as number);
    }
  };
  /** Its own on its own side, and the nearest on the other. */
  const addKnown = (slot: number): void => {
    const pixel = pixels[slot] as number;
    if (trimap[pixel] === INSIDE) add(slot, pixel, Math.max(samples.background[slot] as number, 0));
    else add(slot, Math.max(samples.subject[slot] as number, 0), pixel);
  };
  const addAround = (slot: number): void => {
    const { left, right, top, bottom } = windowOf(pixels[slot] as number, picture, RADIUS);
    let count = 0;
    for (let y = top; y <= bottom; y += 1) {
      for (let at = y * picture.width + left; at <= y * picture.width + right; at += 1) {
        if (trimap[at] !== UNKNOWN) continue;
        count += 1;
        const other = slots[at] as number;
        add(slot, samples.subject[other] as number, samples.background[other] as number);
      }
    }
    for (let at = 6 * slot; at < 6 * slot + 6; at += 1) values[at] = (values[at] as number) / count;
  };
  return {
    values,
    findAt(slot) {
      if (found[slot] === 1) return;
      found[slot] = 1;
      if (trimap[pixels[slot] as number] === UNKNOWN) addAround(slot);
      else addKnown(slot);
    },
  };
}
