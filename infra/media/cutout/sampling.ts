/**
 * For each pixel of the band the pair of known pixels, one of either side, whose mixture explains it best (after He et al.,
 * "A global sampling method for alpha matting", CVPR 2011: pairs are handed on to neighbours and varied at random).
 */
import type { Picture } from './picture.ts';
import { INSIDE, nearestOf, OUTSIDE, UNKNOWN } from './trimap.ts';

export interface Samples {
  /** 0–1; of known pixels what they are. */
  alpha: Float32Array;
  /** 0–1: how well the pair explains the pixel. */
  trust: Float32Array;
  /** Pixels whose colours the subject and the background have here. */
  subject: Int32Array;
  background: Int32Array;
}

const SWEEPS = 3;
/** Squared distance of colours (0–255 each) at which the trust has fallen to a third. */
const TRUST_SQUARE = 200;
/** What a sample twice as far away as the nearest one costs, as a squared distance of colours. */
const FARTHER = 12;

interface Search extends Samples {
  picture: Picture;
  trimap: Uint8Array;
  cost: Float32Array;
  /** Distances in pixels to the nearest of either side. */
  reach: { subject: Float32Array; background: Float32Array };
}

/** Takes flecks out of `trimap`. Undefined where no band is left. */
export function samplePairs(picture: Picture, trimap: Uint8Array): Samples | undefined {
  const subject = nearestOf(trimap, picture, INSIDE);
  const background = nearestOf(trimap, picture, OUTSIDE);
  const band: number[] = [];
  const alpha = new Float32Array(trimap.length);
  for (let pixel = 0; pixel < trimap.length; pixel += 1) {
    if (trimap[pixel] === UNKNOWN) {
      // What is nothing but edge is a fleck or a crack: it goes to the only side that it touches.
      if ((subject[pixel] as number) < 0) trimap[pixel] = OUTSIDE;
      else if ((background[pixel] as number) < 0) trimap[pixel] = INSIDE;
      else band.push(pixel);
    }
    if (trimap[pixel] === INSIDE) alpha[pixel] = 1;
  }
  if (band.length === 0) return undefined;
  const search: Search = {
    ...{ picture, trimap, subject, background },
    alpha,
    trust: new Float32Array(trimap.length).fill(1),
    cost: new Float32Array(trimap.length).fill(1e9),
    reach: { subject: new Float32Array(trimap.length), background: new Float32Array(trimap.length) },
  };
  for (const pixel of band) {
    search.reach.subject[pixel] = far(pixel, subject[pixel] as number, picture.width);
    search.reach.background[pixel] = far(pixel, background[pixel] as number, picture.width);
    tryPair(search, pixel, { one: subject[pixel] as number, other: background[pixel] as number });
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    improve(search, sweep % 2 === 0 ? band : [...band].reverse(), sweep + 1);
  }
  return search;
}

function far(pixel: number, other: number, width: number): number {
  const x = pixel % width;
  const column = other % width;
  const down = (pixel - x) / width - (other - column) / width;
  return Math.sqrt((x - column) ** 2 + down * down) + 1;
}

function improve(search: Search, band: readonly number[], seed: number): void {
  const { picture, trimap, subject, background } = search;
  const { width } = picture;
  let random = seed * 7_919;
  const jitter = (at: number, value: number): number => {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) | 0;
    const across = ((random >>> 8) % 17) - 8;
    const down = ((random >>> 16) % 17) - 8;
    const moved = at + down * width + across;
    return trimap[moved] === value ? moved : at;
  };
  for (const pixel of band) {
    for (const neighbour of [pixel - 1, pixel + 1, pixel - width, pixel + width]) {
      if (trimap[neighbour] !== UNKNOWN) continue;
      const one = subject[neighbour] as number;
      const other = background[neighbour] as number;
      tryPair(search, pixel, { one, other });
      tryPair(search, pixel, { one, other: background[pixel] as number });
      tryPair(search, pixel, { one: subject[pixel] as number, other });
    }
    for (let turn = 0; turn < 3; turn += 1) {
      const one = jitter(subject[pixel] as number, INSIDE);
      const other = jitter(background[pixel] as number, OUTSIDE);
      tryPair(search, pixel, { one, other });
    }
  }
}

/** Takes the pair when it explains the pixel better than the one it has. */
function tryPair(search: Search, pixel: number, { one, other }: { one: number; other: number }): void {
  const { rgb, width } = search.picture;
  let [along, length, whole] = [0, 0, 0];
  for (let channel = 0; channel < 3; channel += 1) {
    const base = rgb[3 * other + channel] as number;
    const own = (rgb[3 * pixel + channel] as number) - base;
    const span = (rgb[3 * one + channel] as number) - base;
    along += own * span;
    length += span * span;
    whole += own * own;
  }
  const alpha = length === 0 ? 0.5 : Math.min(Math.max(along / length, 0), 1);
  const error = Math.max(whole - 2 * alpha * along + alpha * alpha * length, 0);
  const { reach } = search;
  const cost =
    error +
    FARTHER * (far(pixel, one, width) / (reach.subject[pixel] as number)) +
    FARTHER * (far(pixel, other, width) / (reach.background[pixel] as number));
  if (cost >= (search.cost[pixel] as number)) return;
  search.cost[pixel] = cost;
  search.alpha[pixel] = alpha;
  // Where both sides have one colour, nothing can be told from it.
  search.trust[pixel] = Math.max(Math.exp(-error / TRUST_SQUARE) * Math.min(length / 1_000, 1), 0.01);
  search.subject[pixel] = one;
  search.background[pixel] = other;
}
