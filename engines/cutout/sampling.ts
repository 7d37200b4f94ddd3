/**
 * For each pixel of the band the pair of known pixels, one of either side, whose mixture explains it best (after He et al.,
 * "A global sampling method for alpha matting", CVPR 2011: pairs are handed on to neighbours and varied at random).
 */
import type { Picture } from './picture.ts';
import { type Band, bandOf, INSIDE, nearestOf, OUTSIDE, UNKNOWN } from './trimap.ts';

/** Lists by slot of the band. */
export interface Samples {
  band: Band;
  /** The slots of unknown pixels. */
  unknown: Int32Array;
  /** 0–1; of known pixels what they are. */
  alpha: Float32Array;
  /** 0–1: how well the pair explains the pixel. */
  trust: Float32Array;
  /** Pixels whose colours the subject and the background have here; -1 where there is none. */
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
  cost: Float64Array;
  /** What a pixel of distance to a sample of either side costs, by the distance of the nearest. */
  subjectCost: Float64Array;
  backgroundCost: Float64Array;
}

/** Takes flecks out of `trimap`. Undefined where no band is left. */
export function samplePairs(picture: Picture, trimap: Uint8Array): Samples | undefined {
  const { width } = picture;
  const band = bandOf(trimap, picture);
  const subject = nearestOf(INSIDE, { trimap, band, width });
  const background = nearestOf(OUTSIDE, { trimap, band, width });
  const unknown = unknownOf(trimap, band, { subject, background });
  if (unknown.length === 0) return undefined;
  const count = band.pixels.length;
  const search: Search = {
    ...{ picture, trimap, subject, background, band, unknown },
    alpha: Float32Array.from(band.pixels, (pixel) => (trimap[pixel] === INSIDE ? 1 : 0)),
    trust: new Float32Array(count).fill(1),
    cost: new Float64Array(count).fill(1e9),
    subjectCost: new Float64Array(count),
    backgroundCost: new Float64Array(count),
  };
  const tryPair = pairTrier(search);
  for (let at = 0; at < unknown.length; at += 1) {
    const slot = unknown[at] as number;
    const pixel = band.pixels[slot] as number;
    search.subjectCost[slot] = FARTHER / far(pixel, subject[slot] as number, width);
    search.backgroundCost[slot] = FARTHER / far(pixel, background[slot] as number, width);
    tryPair(slot, subject[slot] as number, background[slot] as number);
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) improve(search, tryPair, sweep);
  return search;
}

function unknownOf(
  trimap: Uint8Array,
  { pixels }: Band,
  { subject, background }: { subject: Int32Array; background: Int32Array },
): Int32Array {
  const unknown = new Int32Array(pixels.length);
  let count = 0;
  for (let slot = 0; slot < pixels.length; slot += 1) {
    const pixel = pixels[slot] as number;
    if (trimap[pixel] !== UNKNOWN) continue;
    // What is nothing but edge is a fleck or a crack: it goes to the only side that it touches.
    if ((subject[slot] as number) < 0) trimap[pixel] = OUTSIDE;
    else if ((background[slot] as number) < 0) trimap[pixel] = INSIDE;
    else {
      unknown[count] = slot;
      count += 1;
    }
  }
  return unknown.subarray(0, count);
}

function far(pixel: number, other: number, width: number): number {
  const row = Math.floor(pixel / width);
  const line = Math.floor(other / width);
  const across = pixel - row * width - (other - line * width);
  return Math.sqrt(across * across + (row - line) * (row - line)) + 1;
}

type TryPair = (slot: number, one: number, other: number) => void;

/** Forth and back by turns. */
function improve(search: Search, tryPair: TryPair, sweep: number): void {
  const { picture, trimap, subject, background, band, unknown } = search;
  const { width } = picture;
  const steps = [-1, 1, -width, width] as const;
  let random = (sweep + 1) * 7_919;
  const jitter = (at: number, value: number): number => {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) | 0;
    const across = ((random >>> 8) % 17) - 8;
    const down = ((random >>> 16) % 17) - 8;
    const moved = at + down * width + across;
    return trimap[moved] === value ? moved : at;
  };
  for (let turn = 0; turn < unknown.length; turn += 1) {
    const slot = unknown[sweep % 2 === 0 ? turn : unknown.length - 1 - turn] as number;
    const pixel = band.pixels[slot] as number;
    for (let way = 0; way < 4; way += 1) {
      const neighbour = pixel + (steps[way] as number);
      if (trimap[neighbour] !== UNKNOWN) continue;
      const beside = band.slots[neighbour] as number;
      const one = subject[beside] as number;
      const other = background[beside] as number;
      tryPair(slot, one, other);
      tryPair(slot, one, background[slot] as number);
      tryPair(slot, subject[slot] as number, other);
    }
    for (let time = 0; time < 3; time += 1) {
      const one = jitter(subject[slot] as number, INSIDE);
      const other = jitter(background[slot] as number, OUTSIDE);
      tryPair(slot, one, other);
    }
  }
}

/** Takes a pair when it explains the pixel better than the one that it has. */
function pairTrier(search: Search): TryPair {
  const { rgb, width } = search.picture;
  const { pixels } = search.band;
  const { alpha, trust, cost, subject, background, subjectCost, backgroundCost } = search;
  return (slot, one, other) => {
    const least = cost[slot] as number;
    if (one === subject[slot] && other === background[slot] && least < 1e9) return;
    const pixel = pixels[slot] as number;
    const red = rgb[3 * other] as number;
    const green = rgb[3 * other + 1] as number;
    const blue = rgb[3 * other + 2] as number;
    const ownRed = (rgb[3 * pixel] as number) - red;
    const ownGreen = (rgb[3 * pixel + 1] as number) - green;
    const ownBlue = (rgb[3 * pixel + 2] as number) - blue;
    const redSpan = (rgb[3 * one] as number) - red;
    const greenSpan = (rgb[3 * one + 1] as number) - green;
    const blueSpan = (rgb[3 * one + 2] as number) - blue;
    const along = ownRed * redSpan + ownGreen * greenSpan + ownBlue * blueSpan;
    const length = redSpan * redSpan + greenSpan * greenSpan + blueSpan * blueSpan;
    const whole = ownRed * ownRed + ownGreen * ownGreen + ownBlue * ownBlue;
    const share = length === 0 ? 0.5 : Math.min(Math.max(along / length, 0), 1);
    const error = Math.max(whole - 2 * share * along + share * share * length, 0);
    // Most pairs are worse by their colours alone.
    if (error >= least) return;
    const distant =
      far(pixel, one, width) * (subjectCost[slot] as number) +
      far(pixel, other, width) * (backgroundCost[slot] as number);
    if (error + distant >= least) return;
    cost[slot] = error + distant;
    alpha[slot] = share;
    // Where both sides have one colour, nothing can be told from it.
    trust[slot] = Math.max(Math.exp(-error / TRUST_SQUARE) * Math.min(length / 1_000, 1), 0.01);
    subject[slot] = one;
    background[slot] = other;
  };
}
