/**
 * Runs in the image child only: a canvas for edit steps. The library applies the operations of one pipeline in its own
 * order. Operations are collected while they follow that order, so that pixels are computed once.
 */
import sharp, { type Metadata, type Sharp } from 'sharp';
import type { Size } from '../../domain/images/editing/measure.ts';
import { decoding, readHead } from './openImage.ts';
import { openUpright } from './plain.ts';

/** Operations in the library's order. `fresh`: none is pending. */
const ORDER = [
  'fresh',
  'extract',
  'resize',
  'flip',
  'extend',
  'blur',
  'recomb',
  'sharpen',
  'composite',
  'linear',
  // Always a pipeline of its own, because the library turns before or after other operations.
  'turn',
] as const;
export type Operation = Exclude<(typeof ORDER)[number], 'fresh'>;

export interface Canvas extends Size {
  picture: Sharp;
  /** Index in `ORDER` of the last pending operation in `picture`. */
  last: number;
}

export interface Pixels extends Size {
  data: Buffer;
  channels: 3 | 4;
}

/** Throws ImageRefusal. */
export async function openCanvas(path: string, maxPixels: number): Promise<Canvas> {
  const head = await readHead(path, maxPixels);
  const { width, height } = head.autoOrient;
  const canvas = { picture: openUpright({ path, maxPixels, head }), width, height, last: 0 };
  if (!isRgb(head)) await settle(canvas);
  return canvas;
}

/** Colour operations expect three colours of 8 bits. */
function isRgb({ space, depth, channels }: Metadata): boolean {
  return space === 'srgb' && depth === 'uchar' && channels >= 3;
}

/** Adds an operation. Pending ones are executed first if the library would apply them after it. */
export async function add(canvas: Canvas, operation: Operation, work: (picture: Sharp) => Sharp): Promise<void> {
  const place = ORDER.indexOf(operation);
  const waits = canvas.last > 0;
  if (place <= canvas.last || (operation === 'turn' && waits)) await settle(canvas);
  canvas.picture = work(canvas.picture);
  canvas.last = place;
}

/** Executes the pending operations. */
export async function settle(canvas: Canvas): Promise<void> {
  const { data, info } = await decoding(() => canvas.picture.raw().toBuffer({ resolveWithObject: true }));
  const { width, height, channels } = info;
  setPixels(canvas, { data, width, height, channels: channels === 4 ? 4 : 3 });
}

export function setPixels(canvas: Canvas, { data, width, height, channels }: Pixels): void {
  Object.assign(canvas, { picture: fromPixels({ data, width, height, channels }), width, height, last: 0 });
}

export function fromPixels({ data, ...raw }: Pixels): Sharp {
  return sharp(data, { raw, limitInputPixels: false });
}

/** Always with an alpha channel. */
export async function pixelsOf(canvas: Canvas): Promise<Pixels> {
  const { data, info } = await decoding(() => canvas.picture.ensureAlpha().raw().toBuffer({ resolveWithObject: true }));
  return { data, width: info.width, height: info.height, channels: 4 };
}

/** One black pixel with the given alpha (0 to 1). */
export function singlePixel(alpha: number): Pixels {
  return { data: Buffer.from([0, 0, 0, Math.round(alpha * 255)]), width: 1, height: 1, channels: 4 };
}
