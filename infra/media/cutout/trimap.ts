/** What of a mask is sure, and the band along its edge in which pixels may belong to both sides. */
import { distanceTo } from './mask.ts';
import type { Size } from './picture.ts';
import { sweep } from './sweep.ts';

export const OUTSIDE = 0;
export const INSIDE = 1;
export const UNKNOWN = 2;

export function trimapOf(mask: Uint8Array, size: Size, radius: number): Uint8Array {
  const inside = distanceTo(mask, size, 0);
  const outside = distanceTo(mask, size, 1);
  return mask.map((value, pixel) => {
    const depth = (value === 1 ? inside[pixel] : outside[pixel]) as number;
    if (depth <= radius) return UNKNOWN;
    return value === 1 ? INSIDE : OUTSIDE;
  });
}

/** Of each pixel the nearest one of `value`, handed on from neighbour to neighbour; -1 where there is none at all. */
export function nearestOf(trimap: Uint8Array, size: Size, value: number): Int32Array {
  const { width } = size;
  const nearest = Int32Array.from(trimap, (own, pixel) => (own === value ? pixel : -1));
  const squares = Float32Array.from(trimap, (own) => (own === value ? 0 : 1e9));
  sweep(size, true, (pixel, neighbour) => {
    const found = nearest[neighbour] as number;
    if (found < 0 || squares[pixel] === 0) return;
    const x = pixel % width;
    const column = found % width;
    const square = (x - column) ** 2 + ((pixel - x) / width - (found - column) / width) ** 2;
    if (square >= (squares[pixel] as number)) return;
    squares[pixel] = square;
    nearest[pixel] = found;
  });
  return nearest;
}
