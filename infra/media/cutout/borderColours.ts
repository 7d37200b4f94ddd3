/**
 * The colours along the edge of a picture, and which of them are the background's: a subject that touches the edge shows
 * there too, but its colour fills much of the picture for the little of the edge that it has.
 */
import type { LabPicture } from './picture.ts';

export interface BorderSample {
  colour: readonly [number, number, number];
  /** 0–1: how sure it is that this is background. */
  weight: number;
  pixels: readonly number[];
}

const PATCHES_PER_SIDE = 28;
const DEPTH = 3;
/** What share of the left and right sides, from above, is taken as the edge: below it, people stand. */
const SIDE_SHARE = 0.9;
const COLOUR_SIGMA = 9;
const GRID_STEP = 3;
/** A sample one long side away counts as one whose colour differs by this much. */
const FAR_COLOUR = 50;
/** More is not more different. */
const MOST_CONTRAST = 60;

/** Patches along the top, the left and the right. Subjects stand on the bottom: it says nothing. */
export function borderColours(lab: LabPicture): BorderSample[] {
  const patches = patchesOf(lab);
  const grid = gridOf(lab);
  const means = patches.map((pixels) => meanOf(lab, pixels));
  return patches.map((pixels, index) => {
    const colour = means[index] as readonly [number, number, number];
    const along = means.reduce((sum, other) => sum + likeness(colour, other), 0) / means.length;
    const within = grid.reduce((sum, other) => sum + likeness(colour, other), 0) / grid.length;
    // Background: a colour that has at least about as much of the edge as of the whole.
    const weight = 1 / (1 + Math.exp(-6 * (along / Math.max(within, 1e-6) - 0.9)));
    return { colour, weight, pixels };
  });
}

type Colour = readonly [number, number, number];

function likeness(one: Colour, other: Colour): number {
  const square = (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2 + (one[2] - other[2]) ** 2;
  return Math.exp(-square / (2 * COLOUR_SIGMA * COLOUR_SIGMA));
}

/** Per pixel, how far its colour is from the most alike of the background's; what is at the other side counts less. */
export function contrastTo(lab: LabPicture, border: readonly BorderSample[]): Float32Array {
  const { width, height } = lab;
  const sure = border.filter((sample) => sample.weight >= 0.5);
  const samples = Float32Array.from(
    sure.flatMap(({ colour, pixels }) => {
      const pixel = pixels[Math.floor(pixels.length / 2)] ?? 0;
      return [...colour, pixel % width, Math.floor(pixel / width)];
    }),
  );
  const [lights, reds, yellows] = lab.planes;
  const contrast = new Float32Array(lights.length);
  const perPixel = (FAR_COLOUR / Math.max(width, height)) ** 2;
  for (let pixel = 0; pixel < contrast.length; pixel += 1) {
    const x = pixel % width;
    const y = (pixel - x) / width;
    let least = MOST_CONTRAST ** 2;
    for (let at = 0; at < samples.length; at += 5) {
      const light = (lights[pixel] as number) - (samples[at] as number);
      const red = (reds[pixel] as number) - (samples[at + 1] as number);
      const yellow = (yellows[pixel] as number) - (samples[at + 2] as number);
      const across = x - (samples[at + 3] as number);
      const down = y - (samples[at + 4] as number);
      const square = light * light + red * red + yellow * yellow + perPixel * (across * across + down * down);
      if (square < least) least = square;
    }
    contrast[pixel] = Math.sqrt(least);
  }
  return contrast;
}

function patchesOf({ width, height }: LabPicture): number[][] {
  const rows = Math.ceil(height * SIDE_SHARE);
  const patches = Array.from({ length: 3 * PATCHES_PER_SIDE }, (): number[] => []);
  const put = (patch: number, x: number, y: number) => patches[patch]?.push(y * width + x);
  for (let depth = 0; depth < DEPTH; depth += 1) {
    for (let x = 0; x < width; x += 1) put(Math.floor((x * PATCHES_PER_SIDE) / width), x, depth);
    for (let y = DEPTH; y < rows; y += 1) {
      const patch = Math.floor((y * PATCHES_PER_SIDE) / rows);
      put(PATCHES_PER_SIDE + patch, depth, y);
      put(2 * PATCHES_PER_SIDE + patch, width - 1 - depth, y);
    }
  }
  return patches.filter((pixels) => pixels.length > 0);
}

function gridOf({ width, height, planes }: LabPicture): Colour[] {
  const grid: Colour[] = [];
  for (let y = 0; y < height; y += GRID_STEP) {
    for (let x = 0; x < width; x += GRID_STEP) {
      const pixel = y * width + x;
      grid.push([planes[0][pixel] as number, planes[1][pixel] as number, planes[2][pixel] as number]);
    }
  }
  return grid;
}

function meanOf({ planes }: LabPicture, pixels: readonly number[]): Colour {
  const mean = (plane: Float32Array) =>
    pixels.reduce((sum, pixel) => sum + (plane[pixel] as number), 0) / Math.max(pixels.length, 1);
  return [mean(planes[0]), mean(planes[1]), mean(planes[2])];
}
