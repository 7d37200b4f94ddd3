/** Writes alpha into a picture of full size, and takes the background's colour out of what is half transparent. */

import type { Lines } from './localLines.ts';
import { eachAround, type Picture, type Size } from './picture.ts';
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
  const colours = sideColours(matte);
  const mix = mixer(matte, colours);
  const [across, down] = [picture.width / size.width, picture.height / size.height];
  for (let y = 0, to = 0; y < size.height; y += 1) {
    const row = Math.min(Math.max((y + 0.5) * down - 0.5, 0), picture.height - 1);
    const top = Math.floor(row);
    const bottom = Math.min(top + 1, picture.height - 1);
    for (let x = 0; x < size.width; x += 1, to += 4) {
      const column = Math.min(Math.max((x + 0.5) * across - 0.5, 0), picture.width - 1);
      const left = Math.floor(column);
      const right = Math.min(left + 1, picture.width - 1);
      const mark = trimap[top * picture.width + left] as number;
      const even =
        mark !== UNKNOWN &&
        mark === trimap[top * picture.width + right] &&
        mark === trimap[bottom * picture.width + left] &&
        mark === trimap[bottom * picture.width + right];
      if (even && mark === OUTSIDE) rgba.fill(0, to, to + 4);
      else if (!even) mix(rgba, to, { top, left, right, bottom, down: row - top, across: column - left });
    }
  }
}

interface Place {
  top: number;
  left: number;
  right: number;
  bottom: number;
  /** How far between them, 0–1. */
  down: number;
  across: number;
}

function mixer({ picture, lines }: Matte, colours: Float32Array) {
  const { width } = picture;
  return (rgba: Uint8Array, to: number, { top, left, right, bottom, down, across }: Place): void => {
    const [a, b, c, d] = [
      top * width + left,
      top * width + right,
      bottom * width + left,
      bottom * width + right,
    ];
    const wa = (1 - down) * (1 - across);
    const wb = (1 - down) * across;
    const wc = down * (1 - across);
    const wd = down * across;
    const between = (plane: Float32Array, size: number, member: number) =>
      wa * (plane[size * a + member] as number) +
      wb * (plane[size * b + member] as number) +
      wc * (plane[size * c + member] as number) +
      wd * (plane[size * d + member] as number);
    let line = between(lines, 4, 3);
    for (let channel = 0; channel < 3; channel += 1) {
      line += (between(lines, 4, channel) * (rgba[to + channel] as number)) / 255;
    }
    const alpha = Math.min(Math.max((line - FLOOR) / (CEILING - FLOOR), 0), 1);
    const opacity = Math.round(alpha * (rgba[to + 3] as number));
    if (opacity === 0) {
      rgba.fill(0, to, to + 4);
      return;
    }
    for (let channel = 0; channel < 3; channel += 1) {
      const subject = between(colours, 6, channel);
      const background = between(colours, 6, 3 + channel);
      const own = rgba[to + channel] as number;
      // Least squares: the mixture must come out, and the colour stay near the subject's.
      const clean = subject + alpha * (own - alpha * subject - (1 - alpha) * background);
      rgba[to + channel] = Math.min(Math.max(Math.round(clean), 0), 255);
    }
    rgba[to + 3] = opacity;
  };
}

const RADIUS = 2;

/** Per pixel the subject's colour there, then the background's; in the band each is the mean of the samples around. */
function sideColours(matte: Matte): Float32Array {
  const { trimap } = matte;
  const colours = new Float32Array(trimap.length * 6);
  for (let pixel = 0; pixel < trimap.length; pixel += 1) {
    if (trimap[pixel] === UNKNOWN) meanColours(matte, pixel, colours);
    else knownColours(matte, pixel, colours);
  }
  return colours;
}

/** Its own on its own side, and the nearest on the other. */
function knownColours({ picture: { rgb }, trimap, samples }: Matte, pixel: number, to: Float32Array): void {
  const isInside = trimap[pixel] === INSIDE;
  const subject = 3 * (isInside ? pixel : Math.max(samples.subject[pixel] as number, 0));
  const background = 3 * (isInside ? Math.max(samples.background[pixel] as number, 0) : pixel);
  for (let channel = 0; channel < 3; channel += 1) {
    to[6 * pixel + channel] = rgb[subject + channel] as number;
    to[6 * pixel + 3 + channel] = rgb[background + channel] as number;
  }
}

function meanColours({ picture, trimap, samples }: Matte, pixel: number, to: Float32Array): void {
  const { width, height, rgb } = picture;
  const sums = [0, 0, 0, 0, 0, 0];
  let count = 0;
  eachAround(pixel, { width, height, radius: RADIUS }, (at) => {
    if (trimap[at] !== UNKNOWN) return;
    count += 1;
    const subject = 3 * (samples.subject[at] as number);
    const background = 3 * (samples.background[at] as number);
    for (let channel = 0; channel < 3; channel += 1) {
      sums[channel] = (sums[channel] as number) + (rgb[subject + channel] as number);
      sums[3 + channel] = (sums[3 + channel] as number) + (rgb[background + channel] as number);
    }
  });
  for (let member = 0; member < 6; member += 1) to[6 * pixel + member] = (sums[member] as number) / count;
}
