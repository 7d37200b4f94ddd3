/** Cleaning of a mask of ones and zeros: which of its pieces are the subject, and which holes in it are none. */
import type { Size } from './picture.ts';
import { sweep } from './sweep.ts';

export interface Piece {
  pixels: number;
  /** The sum of the weights of its pixels. */
  weight: number;
}

/** Connected pieces (by sides) of `value`: a number from 1 per pixel, 0 for what is none, and the piece of each number. */
export function piecesOf(
  mask: Uint8Array,
  { width, height }: Size,
  { value, weights }: { value: 0 | 1; weights?: Float32Array },
): { labels: Int32Array; pieces: Piece[] } {
  const labels = new Int32Array(mask.length);
  const stack = new Int32Array(mask.length);
  const pieces: Piece[] = [];
  for (let start = 0; start < mask.length; start += 1) {
    if (mask[start] !== value || labels[start] !== 0) continue;
    const label = pieces.length + 1;
    const piece = { pixels: 0, weight: 0 };
    let waiting = 1;
    stack[0] = start;
    labels[start] = label;
    while (waiting > 0) {
      waiting -= 1;
      const pixel = stack[waiting] as number;
      piece.pixels += 1;
      piece.weight += weights?.[pixel] ?? 0;
      const x = pixel % width;
      if (x > 0) waiting = visit(pixel - 1, waiting);
      if (x < width - 1) waiting = visit(pixel + 1, waiting);
      if (pixel >= width) waiting = visit(pixel - width, waiting);
      if (pixel < width * (height - 1)) waiting = visit(pixel + width, waiting);
    }
    pieces.push(piece);

    function visit(pixel: number, end: number): number {
      if (mask[pixel] !== value || labels[pixel] !== 0) return end;
      labels[pixel] = label;
      stack[end] = pixel;
      return end + 1;
    }
  }
  return { labels, pieces };
}

/** What of the heaviest piece's weight another must have to be kept beside it. */
const KEPT_SHARE = 0.2;

/** Keeps the piece of the greatest weight and those that come near it. */
export function keepSubjects(mask: Uint8Array, size: Size, weights: Float32Array): Uint8Array {
  const { labels, pieces } = piecesOf(mask, size, { value: 1, weights });
  const most = pieces.reduce((high, { weight }) => Math.max(high, weight), 0);
  const kept = [false, ...pieces.map(({ weight }) => weight > 0 && weight >= most * KEPT_SHARE)];
  return mask.map((_, pixel) => (kept[labels[pixel] as number] ? 1 : 0));
}

/** Takes off pieces of fewer pixels. */
export function withoutIslands(mask: Uint8Array, size: Size, pixels: number): Uint8Array {
  const { labels, pieces } = piecesOf(mask, size, { value: 1 });
  return mask.map((value, pixel) => {
    const piece = pieces[(labels[pixel] as number) - 1];
    return piece !== undefined && piece.pixels < pixels ? 0 : value;
  });
}

/** Fills holes of at most `pixels`. What touches the edge of the picture is no hole. */
export function fillHoles(mask: Uint8Array, size: Size, pixels: number): Uint8Array {
  const { labels, pieces } = piecesOf(mask, size, { value: 0 });
  const open = new Set([0]);
  const { width, height } = size;
  for (let x = 0; x < width; x += 1)
    open.add(labels[x] as number).add(labels[(height - 1) * width + x] as number);
  for (let y = 0; y < height; y += 1)
    open.add(labels[y * width] as number).add(labels[(y + 1) * width - 1] as number);
  return mask.map((value, pixel) => {
    const label = labels[pixel] as number;
    return value === 1 || (!open.has(label) && (pieces[label - 1] as Piece).pixels <= pixels) ? 1 : 0;
  });
}

/** Opening by a disc of `radius`: takes off what is thinner, and lets the rest be as it was. */
export function withoutThreads(mask: Uint8Array, size: Size, radius: number): Uint8Array {
  const inside = distanceTo(mask, size, 0);
  const core = mask.map((_, pixel) => ((inside[pixel] as number) > radius ? 1 : 0));
  const grown = distanceTo(core, size, 1);
  return mask.map((value, pixel) => (value === 1 && (grown[pixel] as number) <= radius ? 1 : 0));
}

const FAR = 1e9;

/** How far each pixel is from the next one of `value`, in pixels (chamfer distance, within 8 %). */
export function distanceTo(mask: Uint8Array, size: Size, value: 0 | 1): Float32Array {
  const distance = new Float32Array(mask.length).fill(FAR);
  mask.forEach((own, pixel) => {
    if (own === value) distance[pixel] = 0;
  });
  sweep(size, true, (pixel, neighbour) => {
    const apart = Math.abs(pixel - neighbour);
    const step = apart === 1 || apart === size.width ? 1 : Math.SQRT2;
    const by = (distance[neighbour] as number) + step;
    if (by < (distance[pixel] as number)) distance[pixel] = by;
  });
  return distance;
}
