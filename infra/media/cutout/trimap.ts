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
      for (const [across, down] of disc) {
        const [column, row] = [x + across, y + down];
        if (column < 0 || column >= width || row < 0 || row >= height) continue;
        trimap[row * width + column] = UNKNOWN;
      }
    }
  }
  return trimap;
}

function discOf(radius: number): [number, number][] {
  const side = Math.ceil(radius);
  const steps = Array.from({ length: 2 * side + 1 }, (_, step) => step - side);
  const square = steps.flatMap((down) => steps.map((across): [number, number] => [across, down]));
  return square.filter(([across, down]) => Math.hypot(across, down) <= radius);
}

/**
 * For the pixels of the band and those next to it, the nearest one of `value`, handed on from neighbour to neighbour; -1
 * elsewhere, and where there is none.
 */
export function nearestOf(trimap: Uint8Array, { width }: Size, value: number): Int32Array {
  const nearest = new Int32Array(trimap.length).fill(-1);
  const squares = new Float32Array(trimap.length).fill(1e9);
  const around = [-width - 1, -width, -width + 1, -1, 1, width - 1, width, width + 1];
  const asked: number[] = [];
  for (let pixel = 0; pixel < trimap.length; pixel += 1) {
    if (trimap[pixel] === value) {
      nearest[pixel] = pixel;
      squares[pixel] = 0;
    } else if (trimap[pixel] === UNKNOWN || around.some((step) => trimap[pixel + step] === UNKNOWN)) {
      asked.push(pixel);
    }
  }
  // A neighbour across the edge of the picture is a true pixel too, only a far one.
  const ask = (pixel: number) => {
    const x = pixel % width;
    const y = (pixel - x) / width;
    for (const step of around) {
      const found = nearest[pixel + step] ?? -1;
      if (found < 0) continue;
      const column = found % width;
      const square = (x - column) ** 2 + (y - (found - column) / width) ** 2;
      if (square >= (squares[pixel] as number)) continue;
      squares[pixel] = square;
      nearest[pixel] = found;
    }
  };
  for (const pixel of asked) ask(pixel);
  for (const pixel of asked.reverse()) ask(pixel);
  return nearest;
}
