/**
 * Runs in the image child only: a picture that steps are done to. The library does the operations of one pipeline in an
 * order of its own; as long as that is the order asked for, they are collected, and the pixels are made once.
 */
import sharp, { type Metadata, type Sharp } from 'sharp';
import type { Size } from '../../domain/images/editing/measure.ts';
import { decoding, readHead } from './openImage.ts';
import { openUpright } from './plain.ts';

/** The library's order. `fresh`: nothing is waiting. */
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
  // Alone: the library turns before or after the rest, by what else there is.
  'turn',
] as const;
export type Operation = Exclude<(typeof ORDER)[number], 'fresh'>;

export interface Canvas extends Size {
  picture: Sharp;
  /** Place in the library's order of the last operation that waits in `picture`. */
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

/** Operations on colours count on three of them with 8 bits each. */
function isRgb({ space, depth, channels }: Metadata): boolean {
  return space === 'srgb' && depth === 'uchar' && channels >= 3;
}

/** Adds an operation; what waits is done first where it would come after it. */
export async function add(canvas: Canvas, operation: Operation, work: (picture: Sharp) => Sharp): Promise<void> {
  const place = ORDER.indexOf(operation);
  const waits = canvas.last > 0;
  if (place <= canvas.last || (operation === 'turn' && waits)) await settle(canvas);
  canvas.picture = work(canvas.picture);
  canvas.last = place;
}

/** Does what waits. */
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

/** With transparency. */
export async function pixelsOf(canvas: Canvas): Promise<Pixels> {
  const { data, info } = await decoding(() => canvas.picture.ensureAlpha().raw().toBuffer({ resolveWithObject: true }));
  return { data, width: info.width, height: info.height, channels: 4 };
}

/** A lone colour as large as a point. */
export function singlePixel(alpha: number): Pixels {
  return { data: Buffer.from([0, 0, 0, Math.round(alpha * 255)]), width: 1, height: 1, channels: 4 };
}
