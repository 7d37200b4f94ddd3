/** Runs in the image child only: checks for plain images and makes them from others. */
import { readFile, writeFile } from 'node:fs/promises';
import type { Metadata, Sharp } from 'sharp';
import { IMAGE_CONTENT_TYPES, type ImageFormat } from '../../domain/images/images.ts';
import type { ImageFacts, SourceImage } from './imageFacts.ts';
import { decodeWhole, decoding, openImage, readHead } from './openImage.ts';
import { removeMetadata } from './plainFile.ts';

export interface Opened {
  path: string;
  head: Metadata;
  maxPixels: number;
}

const FORMATS: Readonly<Record<string, ImageFormat>> = { png: 'png', jpeg: 'jpeg', webp: 'webp' };

/** Undefined for types that are accepted but never written. */
export function formatOf({ format }: Metadata): ImageFormat | undefined {
  return FORMATS[format];
}

/**
 * Removes the metadata if the image is plain otherwise (upright, 8 bits, sRGB), after decoding it once. Returns the
 * source path if nothing changed. Undefined when the image must be encoded again. Throws ImageRefusal.
 */
export async function keepUnchanged({ path, head }: Opened, target: string): Promise<ImageFacts | undefined> {
  const format = formatOf(head);
  if (format === undefined || !hasPlainPixels(head)) return undefined;
  const contentType = IMAGE_CONTENT_TYPES[format];
  const file = await readFile(path);
  const bare = removeMetadata(file, contentType as 'image/png');
  if (bare === undefined) return undefined;
  await decodeWhole(bare, head);
  const facts = { contentType, width: head.width, height: head.height, bytes: bare.length };
  if (bare.equals(file)) return { path, ...facts };
  await writeFile(target, bare, { mode: 0o600 });
  return { path: target, ...facts };
}

function hasPlainPixels({ depth, space, channels, orientation = 1, hasProfile, isPalette }: Metadata): boolean {
  const isUpright = orientation <= 1 || orientation > 8;
  const isRgb = depth === 'uchar' && space === 'srgb' && channels >= 3 && isPalette !== true;
  return isUpright && isRgb && !hasProfile;
}

/** Rotates by Exif orientation and converts to sRGB with 8 bits. Decodes nothing yet. */
export function openUpright({ path, maxPixels }: Opened): Sharp {
  return openImage(path, maxPixels).autoOrient().toColourspace('srgb');
}

/** Throws ImageRefusal when the image cannot be decoded, and other errors when the disk is at fault. */
export async function write(picture: Sharp, target: string, format: ImageFormat): Promise<ImageFacts> {
  const { data, info } = await decoding(() => picture.toBuffer({ resolveWithObject: true }));
  await writeFile(target, data, { mode: 0o600 });
  const { width, height } = info;
  return { path: target, contentType: IMAGE_CONTENT_TYPES[format], width, height, bytes: data.length };
}

/** Losses are invisible. Without the second Huffman pass (`optimiseCoding`) it takes half the memory. */
const JPEG = { quality: 95, chromaSubsampling: '4:4:4', optimiseCoding: false };

/**
 * Makes an image upright, 8 bits, sRGB and free of metadata. Writes PNG for PNG, GIF and transparent images, else JPEG.
 * Returns the source path if nothing changed. Throws ImageRefusal.
 */
export async function makePlain({ path, target, maxPixels }: SourceImage): Promise<ImageFacts> {
  const opened = { path, maxPixels, head: await readHead(path, maxPixels) };
  const kept = await keepUnchanged(opened, target);
  if (kept !== undefined) return kept;
  const { hasAlpha, format } = opened.head;
  const picture = openUpright(opened);
  if (hasAlpha || format === 'png' || format === 'gif') return write(picture.png(), target, 'png');
  return write(picture.jpeg(JPEG), target, 'jpeg');
}
