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
/** The weight of what is taken for background. */
export const SURE = 0.5;
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
  const means = Float32Array.from(patches.flatMap((pixels) => meanOf(lab, pixels)));
  return patches.map((pixels, index) => {
    const colour: Colour = [
      means[3 * index] as number,
      means[3 * index + 1] as number,
      means[3 * index + 2] as number,
    ];
    // Background: a colour that has at least about as much of the edge as of the whole.
    const share = likeness(colour, means) / Math.max(likeness(colour, grid), 1e-6);
    return { colour, weight: 1 / (1 + Math.exp(-6 * (share - 0.9))), pixels };
  });
}

type Colour = readonly [number, number, number];

/** The bell by squared distance, by table: it is asked for every patch with every point of the grid. */
const BELL_STEPS = 2_048;
const BELL_END = 18 * COLOUR_SIGMA * COLOUR_SIGMA;
const BELL = Float32Array.from({ length: BELL_STEPS + 1 }, (_, step) =>
  step === BELL_STEPS ? 0 : Math.exp(-(step * BELL_END) / BELL_STEPS / (2 * COLOUR_SIGMA * COLOUR_SIGMA)),
);

/** 0–1: how alike the colour is to those of a list of threes, in the mean. */
function likeness([light, red, yellow]: Colour, others: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < others.length; at += 3) {
    const lighter = light - (others[at] as number);
    const redder = red - (others[at + 1] as number);
    const yellower = yellow - (others[at + 2] as number);
    const square = lighter * lighter + redder * redder + yellower * yellower;
    const step = Math.floor(Math.min((square * BELL_STEPS) / BELL_END, BELL_STEPS));
    sum += BELL[step] as number;
  }
  return (3 * sum) / others.length;
}

/** Per pixel, how far its colour is from the most alike of the background's; what is at the other side counts less. */
export function contrastTo(lab: LabPicture, border: readonly BorderSample[]): Float32Array {
  const { width, height } = lab;
  const samples = samplesOf(border, width);
  const [lights, reds, yellows] = lab.planes;
  const contrast = new Float32Array(width * height);
  const perPixel = (FAR_COLOUR / Math.max(width, height)) ** 2;
  // The one that is most alike is so for the next pixel too, mostly: of the others less is looked at then.
  let best = 0;
  for (let pixel = 0; pixel < contrast.length; pixel += 1) {
    const x = pixel % width;
    const y = (pixel - x) / width;
    let least = MOST_CONTRAST ** 2;
    for (let at = best, next = 0; at < samples.length; at = next, next += 5) {
      const light = (lights[pixel] as number) - (samples[at] as number);
      const red = (reds[pixel] as number) - (samples[at + 1] as number);
      const colour = light * light + red * red;
      if (colour >= least) continue;
      const yellow = (yellows[pixel] as number) - (samples[at + 2] as number);
      const across = x - (samples[at + 3] as number);
      const down = y - (samples[at + 4] as number);
      const square = colour + yellow * yellow + perPixel * (across * across + down * down);
      if (square >= least) continue;
      least = square;
      best = at;
    }
    contrast[pixel] = Math.sqrt(least);
  }
  return contrast;
}

/** Threes: the colours that are surely the background's. */
export function sureColours(border: readonly BorderSample[]): Float64Array {
  return Float64Array.from(border.flatMap(({ colour, weight }) => (weight >= SURE ? colour : [])));
}

/** Of those that are surely the background's: the colour, and the middle's column and row. */
function samplesOf(border: readonly BorderSample[], width: number): Float64Array {
  const sure = border.filter((sample) => sample.weight >= SURE);
  return Float64Array.from(
    sure.flatMap(({ colour, pixels }) => {
      const pixel = pixels[Math.floor(pixels.length / 2)] ?? 0;
      return [...colour, pixel % width, Math.floor(pixel / width)];
    }),
  );
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

function gridOf({ width, height, planes }: LabPicture): Float32Array {
  const grid = new Float32Array(3 * Math.ceil(width / GRID_STEP) * Math.ceil(height / GRID_STEP));
  let to = 0;
  for (let y = 0; y < height; y += GRID_STEP) {
    for (let x = 0; x < width; x += GRID_STEP) {
      for (const plane of planes) {
        grid[to] = plane[y * width + x] as number;
        to += 1;
      }
    }
  }
  return grid;
}

function meanOf({ planes }: LabPicture, pixels: readonly number[]): Colour {
  const mean = (plane: Float32Array) =>
    pixels.reduce((sum, pixel) => sum + (plane[pixel] as number), 0) / Math.max(pixels.length, 1);
  return [mean(planes[0]), mean(planes[1]), mean(planes[2])];
}
