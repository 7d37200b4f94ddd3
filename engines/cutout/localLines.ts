/**
 * Around each pixel of the band, alpha as a linear function of colour (guided filter, He et al. 2010, each pixel weighted by
 * its trust). The functions smooth the samples along the edges of the picture, and hold for its full size too.
 */
import { type Picture, windowOf } from './picture.ts';
import type { Samples } from './sampling.ts';
import { UNKNOWN } from './trimap.ts';

/** By slot of the band: alpha = red · r + green · g + blue · b + offset, colours 0–1. Of known pixels only the offset, 0 or 1. */
export type Lines = Float32Array;

const RADIUS = 3;
/** Variance of colours (0–1) that counts as none. */
const SMOOTHNESS = 0.0008;

export function localLines(picture: Picture, trimap: Uint8Array, samples: Samples): Lines {
  const known = { picture, trimap, samples };
  const rough = new Float32Array(samples.alpha.length * 4);
  for (let at = 0; at < samples.unknown.length; at += 1) fitLine(known, samples.unknown[at] as number, rough);
  return smoothed(rough, known);
}

interface Known {
  picture: Picture;
  trimap: Uint8Array;
  samples: Samples;
}

/** Weighted sums over a window: of one, the colours, their products, and those with alpha. */
const sums = new Float64Array(14);

function fitLine(known: Known, slot: number, to: Lines): void {
  addUp(known, known.samples.band.pixels[slot] as number);
  const weight = sums[0] as number;
  const of = (member: number) => (sums[member] as number) / weight;
  const red = of(1);
  const green = of(2);
  const blue = of(3);
  const mean = of(4);
  const a = of(5) - red * red + SMOOTHNESS;
  const b = of(6) - red * green;
  const c = of(7) - red * blue;
  const d = of(8) - green * green + SMOOTHNESS;
  const e = of(9) - green * blue;
  const f = of(10) - blue * blue + SMOOTHNESS;
  const x = of(11) - red * mean;
  const y = of(12) - green * mean;
  const z = of(13) - blue * mean;
  // The symmetric system a b c, d e, f for x, y, z, by Cramer's rule.
  const first = d * f - e * e;
  const second = c * e - b * f;
  const third = b * e - c * d;
  const determinant = a * first + b * second + c * third;
  const redSlope = (first * x + second * y + third * z) / determinant;
  const greenSlope = (second * x + (a * f - c * c) * y + (b * c - a * e) * z) / determinant;
  const blueSlope = (third * x + (b * c - a * e) * y + (a * d - b * b) * z) / determinant;
  to[4 * slot] = redSlope;
  to[4 * slot + 1] = greenSlope;
  to[4 * slot + 2] = blueSlope;
  to[4 * slot + 3] = mean - redSlope * red - greenSlope * green - blueSlope * blue;
}

function addUp({ picture, trimap, samples }: Known, pixel: number): void {
  const { rgb, width } = picture;
  const { trust, alpha } = samples;
  const { slots } = samples.band;
  const { left, right, top, bottom } = windowOf(pixel, picture, RADIUS);
  let weight = 0;
  let red = 0;
  let green = 0;
  let blue = 0;
  let mean = 0;
  let rr = 0;
  let rg = 0;
  let rb = 0;
  let gg = 0;
  let gb = 0;
  let bb = 0;
  let ra = 0;
  let ga = 0;
  let ba = 0;
  for (let y = top; y <= bottom; y += 1) {
    for (let at = y * width + left; at <= y * width + right; at += 1) {
      const slot = slots[at] as number;
      const trusted = slot < 0 ? 1 : (trust[slot] as number);
      const own = slot < 0 ? (trimap[at] as number) : (alpha[slot] as number);
      const r = (rgb[3 * at] as number) * (1 / 255);
      const g = (rgb[3 * at + 1] as number) * (1 / 255);
      const b = (rgb[3 * at + 2] as number) * (1 / 255);
      const tr = trusted * r;
      const tg = trusted * g;
      const tb = trusted * b;
      weight += trusted;
      mean += trusted * own;
      red += tr;
      green += tg;
      blue += tb;
      rr += tr * r;
      rg += tr * g;
      rb += tr * b;
      gg += tg * g;
      gb += tg * b;
      bb += tb * b;
      ra += tr * own;
      ga += tg * own;
      ba += tb * own;
    }
  }
  sums.set([weight, red, green, blue, mean, rr, rg, rb, gg, gb, bb, ra, ga, ba]);
}

/** The mean of the functions of all windows that a pixel of the band is in; beside the band what is known. */
function smoothed(rough: Lines, { picture, trimap, samples }: Known): Lines {
  const { width } = picture;
  const { pixels, slots } = samples.band;
  const lines = new Float32Array(rough.length);
  for (let slot = 0; slot < pixels.length; slot += 1) lines[4 * slot + 3] = samples.alpha[slot] as number;
  for (let place = 0; place < samples.unknown.length; place += 1) {
    const own = samples.unknown[place] as number;
    const pixel = pixels[own] as number;
    const { left, right, top, bottom } = windowOf(pixel, picture, RADIUS);
    let red = 0;
    let green = 0;
    let blue = 0;
    let offset = 0;
    let count = 0;
    for (let y = top; y <= bottom; y += 1) {
      for (let at = y * width + left; at <= y * width + right; at += 1) {
        if (trimap[at] !== UNKNOWN) continue;
        const slot = slots[at] as number;
        red += rough[4 * slot] as number;
        green += rough[4 * slot + 1] as number;
        blue += rough[4 * slot + 2] as number;
        offset += rough[4 * slot + 3] as number;
        count += 1;
      }
    }
    lines[4 * own] = red / count;
    lines[4 * own + 1] = green / count;
    lines[4 * own + 2] = blue / count;
    lines[4 * own + 3] = offset / count;
  }
  return lines;
}
