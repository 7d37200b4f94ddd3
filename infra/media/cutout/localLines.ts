/**
 * Around each pixel of the band, alpha as a linear function of colour (guided filter, He et al. 2010, each pixel weighted by
 * its trust). The functions smooth the samples along the edges of the picture, and hold for its full size too.
 */
import { eachAround, type Picture, type Size } from './picture.ts';
import type { Samples } from './sampling.ts';
import { UNKNOWN } from './trimap.ts';

/** Per pixel: alpha = red · r + green · g + blue · b + offset, colours 0–1. Outside the band only the offset, 0 or 1. */
export type Lines = Float32Array;

const RADIUS = 3;
/** Variance of colours (0–1) that counts as none. */
const SMOOTHNESS = 0.0008;

export function localLines(picture: Picture, trimap: Uint8Array, samples: Samples): Lines {
  const rough = new Float32Array(trimap.length * 4);
  const fitted = new Uint8Array(trimap.length);
  for (let pixel = 0; pixel < trimap.length; pixel += 1) {
    if (trimap[pixel] !== UNKNOWN) {
      rough[4 * pixel + 3] = samples.alpha[pixel] as number;
      continue;
    }
    fitLine(picture, samples, { pixel, to: rough });
    fitted[pixel] = 1;
  }
  return smoothed(rough, fitted, picture);
}

function fitLine(
  { rgb, width, height }: Picture,
  samples: Samples,
  { pixel, to }: { pixel: number; to: Lines },
): void {
  const column = pixel % width;
  const row = (pixel - column) / width;
  let [weight, red, green, blue, mean] = [0, 0, 0, 0, 0];
  let [rr, rg, rb, gg, gb, bb] = [0, 0, 0, 0, 0, 0];
  let [ra, ga, ba] = [0, 0, 0];
  const [left, right] = [Math.max(column - RADIUS, 0), Math.min(column + RADIUS, width - 1)];
  for (let y = Math.max(row - RADIUS, 0); y <= Math.min(row + RADIUS, height - 1); y += 1) {
    for (let x = left, at = y * width + left; x <= right; x += 1, at += 1) {
      const trust = samples.trust[at] as number;
      const alpha = samples.alpha[at] as number;
      const r = (rgb[3 * at] as number) / 255;
      const g = (rgb[3 * at + 1] as number) / 255;
      const b = (rgb[3 * at + 2] as number) / 255;
      weight += trust;
      mean += trust * alpha;
      const [tr, tg, tb] = [trust * r, trust * g, trust * b];
      red += tr;
      green += tg;
      blue += tb;
      rr += tr * r;
      rg += tr * g;
      rb += tr * b;
      gg += tg * g;
      gb += tg * b;
      bb += tb * b;
      ra += tr * alpha;
      ga += tg * alpha;
      ba += tb * alpha;
    }
  }
  red /= weight;
  green /= weight;
  blue /= weight;
  mean /= weight;
  const solved = solve(
    [rr / weight - red * red + SMOOTHNESS, rg / weight - red * green, rb / weight - red * blue],
    [
      gg / weight - green * green + SMOOTHNESS,
      gb / weight - green * blue,
      bb / weight - blue * blue + SMOOTHNESS,
    ],
    [ra / weight - red * mean, ga / weight - green * mean, ba / weight - blue * mean],
  );
  to[4 * pixel] = solved[0];
  to[4 * pixel + 1] = solved[1];
  to[4 * pixel + 2] = solved[2];
  to[4 * pixel + 3] = mean - solved[0] * red - solved[1] * green - solved[2] * blue;
}

type Triple = [number, number, number];

/** The symmetric system of three equations: first row, then what the others add to it, then the right side. */
function solve([a, b, c]: Triple, [d, e, f]: Triple, [x, y, z]: Triple): Triple {
  const first = d * f - e * e;
  const second = c * e - b * f;
  const third = b * e - c * d;
  const determinant = a * first + b * second + c * third;
  return [
    (first * x + second * y + third * z) / determinant,
    (second * x + (a * f - c * c) * y + (b * c - a * e) * z) / determinant,
    (third * x + (b * c - a * e) * y + (a * d - b * b) * z) / determinant,
  ];
}

/** The mean of the functions of all windows that a pixel is in. */
function smoothed(rough: Lines, fitted: Uint8Array, { width, height }: Size): Lines {
  const around = { width, height, radius: RADIUS };
  const lines = rough.slice();
  for (let pixel = 0; pixel < fitted.length; pixel += 1) {
    if (fitted[pixel] === 0) continue;
    let [red, green, blue, offset, count] = [0, 0, 0, 0, 0];
    eachAround(pixel, around, (at) => {
      if (fitted[at] === 0) return;
      red += rough[4 * at] as number;
      green += rough[4 * at + 1] as number;
      blue += rough[4 * at + 2] as number;
      offset += rough[4 * at + 3] as number;
      count += 1;
    });
    lines.set([red / count, green / count, blue / count, offset / count], 4 * pixel);
  }
  return lines;
}
