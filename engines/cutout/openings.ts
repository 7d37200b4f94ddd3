/**
 * Openings of a subject through which the background is seen. No way from the edge of the picture leads there: what tells
 * them are the background's colours, and that the subject ends all round them with a clear step.
 */
import { type BorderSample, sureColours } from './borderColours.ts';
import { distanceTo, piecesOf, withoutThreads } from './mask.ts';
import type { LabPicture, Size } from './picture.ts';

/** How far from a colour along the edge the mean of four pixels of background is at most: noise, and no more. */
const LIKE = 5;
/** What is farther from all of them is surely none of it. */
const STEP = 14;
/** Of the picture: what is smaller may be a part of the subject that has the colour by chance. */
const OPENING_SHARE = 0.01;
const THREAD = 2;
/** How far around an opening its rim is looked at, and how much of it must be clear of the background. */
const RIM = { from: 2.5, to: 4.5, share: 0.9 };

/** Takes large openings out of `mask`; found at half its size. */
export function withoutOpenings(
  mask: Uint8Array,
  { lab, border }: { lab: LabPicture; border: readonly BorderSample[] },
): Uint8Array {
  const half = { width: lab.width >> 1, height: lab.height >> 1 };
  const apart = apartFrom(sureColours(border), { mask, lab, half });
  const alike = new Uint8Array(apart.length);
  for (let at = 0; at < alike.length; at += 1) {
    const square = apart[at] as number;
    alike[at] = square >= 0 && square < LIKE * LIKE ? 1 : 0;
  }
  const { labels, pixels } = piecesOf(withoutThreads(alike, half, THREAD), half, 1);
  const open = Uint8Array.from(pixels, (count, label) => {
    const isLarge = label > 0 && count >= OPENING_SHARE * labels.length;
    return isLarge && hasClearRim(label, { labels, apart, half }) ? 1 : 0;
  });
  if (!open.includes(1)) return mask;
  const rest = mask.slice();
  for (let at = 0; at < labels.length; at += 1) {
    if (open[labels[at] as number] === 0) continue;
    const x = at % half.width;
    const to = 2 * (((at - x) / half.width) * lab.width + x);
    rest.fill(0, to, to + 2);
    rest.fill(0, to + lab.width, to + lab.width + 2);
  }
  return rest;
}

interface Halved {
  mask: Uint8Array;
  lab: LabPicture;
  half: Size;
}

/** Of each square of four its squared distance to the nearest of the colours (threes); -1 outside the mask. */
function apartFrom(colours: Float64Array, { mask, lab, half }: Halved): Float32Array {
  const { width } = lab;
  const [lights, reds, yellows] = lab.planes;
  const apart = new Float32Array(half.width * half.height).fill(-1);
  for (let y = 0, to = 0; y < half.height; y += 1) {
    for (let x = 0; x < half.width; x += 1, to += 1) {
      const pixel = 2 * (y * width + x);
      if (mask[pixel] === 0) continue;
      const light = meanOfFour(lights, pixel, width);
      const red = meanOfFour(reds, pixel, width);
      const yellow = meanOfFour(yellows, pixel, width);
      let least = Number.MAX_VALUE;
      for (let at = 0; at < colours.length; at += 3) {
        const lighter = light - (colours[at] as number);
        const redder = red - (colours[at + 1] as number);
        const yellower = yellow - (colours[at + 2] as number);
        least = Math.min(least, lighter * lighter + redder * redder + yellower * yellower);
      }
      apart[to] = least;
    }
  }
  return apart;
}

function meanOfFour(plane: Float32Array, pixel: number, width: number): number {
  const above = (plane[pixel] as number) + (plane[pixel + 1] as number);
  return (above + (plane[pixel + width] as number) + (plane[pixel + width + 1] as number)) / 4;
}

interface Found {
  labels: Int32Array;
  apart: Float32Array;
  half: Size;
}

/** The shade inside a cup fades into its wall: that is no opening. */
function hasClearRim(label: number, { labels, apart, half }: Found): boolean {
  const piece = new Uint8Array(labels.length);
  for (let at = 0; at < piece.length; at += 1) piece[at] = labels[at] === label ? 1 : 0;
  const distance = distanceTo(piece, half, 1);
  let rim = 0;
  let clear = 0;
  for (let at = 0; at < piece.length; at += 1) {
    const away = distance[at] as number;
    if (away < RIM.from || away > RIM.to) continue;
    rim += 1;
    if ((apart[at] as number) > STEP * STEP) clear += 1;
  }
  return clear >= RIM.share * rim;
}
