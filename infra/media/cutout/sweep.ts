/** Sweeps over a picture in which every pixel is handed on what its neighbours know. */
import type { Size } from './picture.ts';

/** `pixel` may take what `neighbour` has. */
export type HandOn = (pixel: number, neighbour: number) => void;

/** Forth and back once, with the neighbours at the sides or also those at the corners. */
export function sweep({ width, height }: Size, corners: boolean, handOn: HandOn): void {
  const half = { width, height, corners, handOn };
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) askBehind(half, [x, y], 1);
  }
  for (let y = height - 1; y >= 0; y -= 1) {
    for (let x = width - 1; x >= 0; x -= 1) askBehind(half, [x, y], -1);
  }
}

interface Half extends Size {
  corners: boolean;
  handOn: HandOn;
}

/** `way`: 1 asks those above and to the left, -1 those below and to the right. */
function askBehind({ width, height, corners, handOn }: Half, [x, y]: [number, number], way: 1 | -1): void {
  const pixel = y * width + x;
  const behind = x - way;
  if (behind >= 0 && behind < width) handOn(pixel, pixel - way);
  const row = y - way;
  if (row < 0 || row >= height) return;
  const above = pixel - way * width;
  handOn(pixel, above);
  if (!corners) return;
  if (x > 0) handOn(pixel, above - 1);
  if (x < width - 1) handOn(pixel, above + 1);
}
