/**
 * Runs in the image child only: finds the subject of an image by a fixed rule, without a trained model. Colours along
 * the top and the sides are background. Whatever differs from all of them is the subject.
 */
import sharp, { type Sharp } from 'sharp';
import { fromPixels, type Pixels } from './editCanvas.ts';
import { decoding } from './openImage.ts';

/** Long side in pixels of the reduced image that is searched, and the blur against its grain. */
const SIDE = 512;
const GRAIN = 1.5;

interface Plane {
  width: number;
  height: number;
}

/** CIE L*a*b*, three numbers per pixel. Distances between colours match human perception. */
interface Lab extends Plane {
  colours: Float32Array;
}

/** One byte per pixel, in the size of the image: 255 is the subject. Undefined when nothing stands out. */
export async function findSubject(picture: Pixels): Promise<Buffer | undefined> {
  const lab = await labOf(picture);
  const contrast = contrastTo(edgeColours(lab), lab);
  const threshold = thresholdOf(contrast);
  if (threshold < MIN_CONTRAST) return undefined;
  const rough = Buffer.from(contrast.map((value) => (value > threshold ? 255 : 0)));
  const mask = cleaned(await bytesOf(planeOf(rough, lab).median(THREAD)), lab);
  const share = mask.reduce((sum, value) => sum + value, 0) / 255 / mask.length;
  if (share < MIN_SHARE || share > 1 - MIN_SHARE) return undefined;
  const { width, height } = picture;
  const enlarged = planeOf(mask, lab).resize({ width, height, fit: 'fill', kernel: 'cubic' });
  // Makes the edge one or two pixels wide, whatever the scale.
  return bytesOf(enlarged.blur(0.7).linear(2, -128));
}

/** Transparent parts become grey, because their colour is invisible. */
async function labOf(picture: Pixels): Promise<Lab> {
  const small = fromPixels(picture)
    .flatten({ background: '#808080' })
    .resize({ width: SIDE, height: SIDE, fit: 'inside', withoutEnlargement: true })
    .blur(GRAIN)
    .toColourspace('lab')
    .raw({ depth: 'float' });
  const { data, info } = await decoding(() => small.toBuffer({ resolveWithObject: true }));
  const colours = new Float32Array(data.buffer, data.byteOffset, data.length / 4);
  return { width: info.width, height: info.height, colours };
}

function planeOf(bytes: Buffer, { width, height }: Plane): Sharp {
  return sharp(bytes, { raw: { width, height, channels: 1 } });
}

function bytesOf(plane: Sharp): Promise<Buffer> {
  return decoding(() => plane.toColourspace('b-w').raw().toBuffer());
}

/** Mean colour of a patch of the edge, with the centre of the patch. */
interface EdgeColour {
  colour: readonly [number, number, number];
  x: number;
  y: number;
}

const PATCHES = 24;
const PATCH_DEPTH = 3;
/** Share of the sides, from the top, that counts as edge. People stand below it, so the bottom is ignored. */
const SIDE_SHARE = 0.9;
/** Maximum distance of similar colours, and minimum share of similar patches for a background colour. */
const ALIKE = 15;
const MIN_ALIKE_SHARE = 0.05;

function edgeColours(lab: Lab): EdgeColour[] {
  const across = Math.max(1, Math.floor(lab.width / PATCHES));
  const down = Math.max(1, Math.floor(lab.height / PATCHES));
  const depth = Math.min(PATCH_DEPTH, lab.width, lab.height);
  const patches: EdgeColour[] = [];
  for (let x = 0; x + across <= lab.width; x += across) {
    patches.push(meanOf(lab, { x, y: 0, width: across, height: depth }));
  }
  for (let y = 0; y + down <= SIDE_SHARE * lab.height; y += down) {
    for (const x of [0, lab.width - depth]) {
      patches.push(meanOf(lab, { x, y, width: depth, height: down }));
    }
  }
  return patches.filter(({ colour }) => {
    const alike = patches.filter((other) => Math.sqrt(squareOf(colour, other.colour)) < ALIKE);
    return alike.length >= MIN_ALIKE_SHARE * patches.length;
  });
}

function meanOf(lab: Lab, patch: { x: number; y: number; width: number; height: number }): EdgeColour {
  const sums: [number, number, number] = [0, 0, 0];
  for (let y = patch.y; y < patch.y + patch.height; y += 1) {
    for (let x = patch.x; x < patch.x + patch.width; x += 1) {
      for (const part of [0, 1, 2] as const) sums[part] += lab.colours[3 * (y * lab.width + x) + part] ?? 0;
    }
  }
  const count = patch.width * patch.height;
  const colour = [sums[0] / count, sums[1] / count, sums[2] / count] as const;
  return { colour, x: patch.x + patch.width / 2, y: patch.y + patch.height / 2 };
}

function squareOf([light, red, yellow]: EdgeColour['colour'], other: EdgeColour['colour']): number {
  return (light - other[0]) ** 2 + (red - other[1]) ** 2 + (yellow - other[2]) ** 2;
}

/** Contrast that is added for a colour at the distance of one long side. */
const FAR_CONTRAST = 30;

/** Distance of each pixel to the nearest edge colour. */
function contrastTo(edge: readonly EdgeColour[], { width, height, colours }: Lab): Float32Array {
  const far = (FAR_CONTRAST / Math.max(width, height)) ** 2;
  return Float32Array.from({ length: width * height }, (_, pixel) => {
    const x = pixel % width;
    const y = (pixel - x) / width;
    const own = [colours[3 * pixel] ?? 0, colours[3 * pixel + 1] ?? 0, colours[3 * pixel + 2] ?? 0] as const;
    let least = Number.POSITIVE_INFINITY;
    for (const { colour, x: left, y: top } of edge) {
      least = Math.min(least, squareOf(own, colour) + far * ((x - left) ** 2 + (y - top) ** 2));
    }
    return Math.sqrt(least);
  });
}

/** Shares of the image: minimum of the subject and of the background, and minimum of a hole. */
const MIN_SHARE = 0.002;
const HOLE_SHARE = 0.005;
/** Lowers the threshold, because a lost subject is worse than visible background. */
const CAUTION = 0.9;
const MIN_CONTRAST = 10;
/** Width in pixels below which parts are removed as cracks or specks. */
const THREAD = 7;
/** Share of the largest piece's pixels from which another piece is kept too. */
const PIECE_SHARE = 0.2;

/** Threshold that separates the contrasts best into two groups (Otsu 1979), lowered by `CAUTION`. */
function thresholdOf(contrast: Float32Array): number {
  const sorted = contrast.toSorted();
  const total = sorted.reduce((sum, value) => sum + value, 0);
  let best = { between: 0, value: 0 };
  let sum = 0;
  sorted.forEach((value, index) => {
    sum += value;
    const above = sorted.length - index - 1;
    if (above === 0) return;
    const between = (index + 1) * above * (sum / (index + 1) - (total - sum) / above) ** 2;
    if (between > best.between) best = { between, value };
  });
  return best.value * CAUTION;
}

/** Removes small pieces beside the subject, and fills small holes in it. */
function cleaned(mask: Buffer, plane: Plane): Buffer {
  const kept = Buffer.from(mask);
  const pieces = piecesOf(mask, plane, 255);
  const largest = pieces.reduce((most, { length }) => Math.max(most, length), 0);
  for (const piece of pieces) {
    if (piece.length < PIECE_SHARE * largest) for (const pixel of piece) kept[pixel] = 0;
  }
  for (const hole of piecesOf(kept, plane, 0)) {
    if (hole.length < HOLE_SHARE * kept.length) for (const pixel of hole) kept[pixel] = 255;
  }
  return kept;
}

/** Connected pieces of `value`, each as a list of pixels. */
function piecesOf(mask: Buffer, { width }: Plane, value: number): number[][] {
  const seen = new Uint8Array(mask.length);
  const pieces: number[][] = [];
  const join = (piece: number[], pixel: number) => {
    if (mask[pixel] !== value || seen[pixel] === 1) return;
    seen[pixel] = 1;
    piece.push(pixel);
  };
  for (let start = 0; start < mask.length; start += 1) {
    const piece: number[] = [];
    join(piece, start);
    // `piece` grows during the loop.
    for (const pixel of piece) {
      const column = pixel % width;
      if (column > 0) join(piece, pixel - 1);
      if (column < width - 1) join(piece, pixel + 1);
      join(piece, pixel - width);
      join(piece, pixel + width);
    }
    if (piece.length > 0) pieces.push(piece);
  }
  return pieces;
}
