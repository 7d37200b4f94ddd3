/** The story of a cut-out, in the child: decode, find the subject, refine its edge, write a PNG with alpha. */
import sharp from 'sharp';
import { SOURCE_PIXELS } from '../../domain/images/images.ts';
import type { CutRefusal } from './childWords.ts';
import { finish } from './finish.ts';
import { localLines } from './localLines.ts';
import type { Picture, Size } from './picture.ts';
import { samplePairs } from './sampling.ts';
import { segment } from './segment.ts';
import { trimapOf } from './trimap.ts';

export class CutRefused extends Error {
  readonly refusal: CutRefusal;
  constructor(refusal: CutRefusal, detail: string) {
    super(detail);
    this.refusal = refusal;
  }
}

/** Long sides: edges are found and refined at the one, the subject at the other. */
export const WORKING_SIDE = 512;
export const COARSE_SIDE = 256;
const LEAST_SIDE = 16;
const BAND_SHARE = 0.008;
/** A subject has at least this share of the picture, and leaves as much. */
const LEAST_SHARE = 0.002;
/** Half of the edge: what was cut out before is not cut again. */
const CUT_BEFORE = 0.5;
const SEEN = 16;

export async function cutOut(sourcePath: string, outputPath: string): Promise<Size> {
  const { rgba, size, hasAlpha } = await decode(sourcePath);
  if (hasAlpha && isTransparent(rgba)) throw new CutRefused('transparent', 'all of it is transparent');
  if (!hasAlpha || !isCutBefore(rgba, size)) await cut(rgba, size);
  await write(rgba, size, outputPath);
  return size;
}

export async function write(rgba: Buffer, size: Size, outputPath: string): Promise<void> {
  await sharp(rgba, { raw: { ...size, channels: 4 }, limitInputPixels: SOURCE_PIXELS.most })
    .png({ compressionLevel: 6 })
    .toFile(outputPath);
}

async function cut(rgba: Buffer, size: Size): Promise<void> {
  if (Math.min(size.width, size.height) < LEAST_SIDE) throw new CutRefused('no_subject', 'it is tiny');
  const picture = await scaled(rgba, size, WORKING_SIDE);
  const coarse = await scaled(rgba, size, COARSE_SIDE);
  const mask = segment(picture, coarse);
  if (mask === undefined) throw new CutRefused('no_subject', 'nothing stands out');
  let subject = 0;
  for (const value of mask) subject += value;
  const share = subject / mask.length;
  if (share < LEAST_SHARE || share > 1 - LEAST_SHARE) throw new CutRefused('no_subject', `share ${share}`);
  const radius = Math.max(1.5, BAND_SHARE * Math.max(picture.width, picture.height));
  const trimap = trimapOf(mask, picture, radius);
  const samples = samplePairs(picture, trimap);
  if (samples === undefined) throw new CutRefused('no_subject', 'one side is too thin');
  const lines = localLines(picture, trimap, samples);
  finish(rgba, size, { picture, trimap, lines, samples });
}

export async function decode(path: string): Promise<{ rgba: Buffer; size: Size; hasAlpha: boolean }> {
  try {
    const source = sharp(path, { limitInputPixels: SOURCE_PIXELS.most, pages: 1, failOn: 'error' });
    const { hasAlpha } = await source.metadata();
    const { data, info } = await source
      .autoOrient()
      .toColourspace('srgb')
      .ensureAlpha()
      .raw({ depth: 'uchar' })
      .toBuffer({ resolveWithObject: true });
    if (info.channels !== 4) throw new CutRefused('undecodable', `${info.channels} channels`);
    return { rgba: data, size: { width: info.width, height: info.height }, hasAlpha };
  } catch (error) {
    if (error instanceof CutRefused) throw error;
    throw new CutRefused('undecodable', error instanceof Error ? error.message : 'unknown');
  }
}

/** Without alpha: what is transparent is grey, as no colour of it is seen. */
export async function scaled(rgba: Buffer, size: Size, side: number): Promise<Picture> {
  const { data, info } = await sharp(rgba, {
    raw: { ...size, channels: 4 },
    limitInputPixels: SOURCE_PIXELS.most,
  })
    .flatten({ background: '#808080' })
    .resize(side, side, { fit: 'inside', withoutEnlargement: true })
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, rgb: data };
}

function isTransparent(rgba: Buffer): boolean {
  for (let at = 3; at < rgba.length; at += 4) if ((rgba[at] as number) >= SEEN) return false;
  return true;
}

function isCutBefore(rgba: Buffer, { width, height }: Size): boolean {
  let clear = 0;
  const look = (x: number, y: number) => {
    if ((rgba[4 * (y * width + x) + 3] as number) < SEEN) clear += 1;
  };
  for (let x = 0; x < width; x += 1) {
    look(x, 0);
    look(x, height - 1);
  }
  for (let y = 0; y < height; y += 1) {
    look(0, y);
    look(width - 1, y);
  }
  return clear >= CUT_BEFORE * 2 * (width + height);
}
