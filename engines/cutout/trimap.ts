/** What of a mask is sure, and the band along its edge in which pixels may belong to both sides. */
import type { Size } from './picture.ts';

export const OUTSIDE = 0;
export const INSIDE = 1;
export const UNKNOWN = 2;

export function trimapOf(mask: Uint8Array, { width, height }: Size, radius: number): Uint8Array {
  const trimap = mask.slice();
  const disc = discOf(radius);
  for (let y = 0, pixel = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, pixel += 1) {
      const own = mask[pixel];
      const isEdge =
        (x < width - 1 && mask[pixel + 1] !== own) || (y < height - 1 && mask[pixel + width] !== own);
      if (!isEdge) continue;
      for (let at = 0; at < disc.length; at += 2) {
        const column = x + (disc[at] as number);
        const row = y + (disc[at + 1] as number);
        if (column < 0 || column >= width || row < 0 || row >= height) continue;
        trimap[row * width + column] = UNKNOWN;
      }
    }
  }
  return trimap;
}

/** Steps across and down, by turns. */
function discOf(radius: number): Int32Array {
  const side = Math.ceil(radius);
  const steps = Array.from({ length: 2 * side + 1 }, (_, step) => step - side);
  const square = steps.flatMap((down) => steps.map((across): [number, number] => [across, down]));
  return Int32Array.from(square.filter(([across, down]) => Math.hypot(across, down) <= radius).flat());
}

function stepsAround(width: number): Int32Array {
  return Int32Array.of(-width - 1, -width, -width + 1, -1, 1, width - 1, width, width + 1);
}

/** The unknown pixels and those next to them, in rows: what is known of each of these lies at its slot of a short list. */
export interface Band {
  pixels: Int32Array;
  /** Of every pixel of the picture, -1 where it has none. */
  slots: Int32Array;
}

export function bandOf(trimap: Uint8Array, { width }: Size): Band {
  const steps = stepsAround(width);
  const slots = new Int32Array(trimap.length).fill(-1);
  for (let pixel = 0; pixel < trimap.length; pixel += 1) {
    if (trimap[pixel] !== UNKNOWN) continue;
    slots[pixel] = 0;
    // What would lie before the first or behind the last pixel is not written.
    for (let at = 0; at < steps.length; at += 1) slots[pixel + (steps[at] as number)] = 0;
  }
  let count = 0;
  for (let pixel = 0; pixel < slots.length; pixel += 1) {
    if (slots[pixel] === -1) continue;
    slots[pixel] = count;
    count += 1;
  }
  const pixels = new Int32Array(count);
  for (let pixel = 0; pixel < slots.length; pixel += 1) {
    if (slots[pixel] !== -1) pixels[slots[pixel] as number] = pixel;
  }
  return { pixels, slots };
}

interface Search {
  trimap: Uint8Array;
  band: Band;
  width: number;
}

/** By slot: the nearest pixel of `value`, handed on from neighbour to neighbour; -1 where there is none. */
export function nearestOf(value: number, search: Search): Int32Array {
  const { pixels } = search.band;
  const nearest = new Int32Array(pixels.length).fill(-1);
  const squares = new Float64Array(pixels.length).fill(1e9);
  const ask = asker(value, { search, nearest, squares });
  for (let slot = 0; slot < pixels.length; slot += 1) ask(slot);
  for (let slot = pixels.length - 1; slot >= 0; slot -= 1) ask(slot);
  return nearest;
}

function asker(
  value: number,
  { search, nearest, squares }: { search: Search; nearest: Int32Array; squares: Float64Array },
): (slot: number) => void {
  const { trimap, band, width } = search;
  const steps = stepsAround(width);
  return (slot) => {
    const pixel = band.pixels[slot] as number;
    if (trimap[pixel] === value) {
      nearest[slot] = pixel;
      return;
    }
    const y = Math.floor(pixel / width);
    const x = pixel - y * width;
    for (let at = 0; at < steps.length; at += 1) {
      // A neighbour across the edge of the picture is a true pixel too, only a far one.
      const neighbour = pixel + (steps[at] as number);
      const found = trimap[neighbour] === value ? neighbour : (nearest[band.slots[neighbour] ?? -1] ?? -1);
      if (found < 0) continue;
      const row = Math.floor(found / width);
      const across = x - (found - row * width);
      const square = across * across + (y - row) * (y - row);
      if (square >= (squares[slot] as number)) continue;
      squares[slot] = square;
      nearest[slot] = found;
    }
  };
}
