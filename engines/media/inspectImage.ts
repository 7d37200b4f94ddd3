/** Runs in the inspection child only: image type by signature, size by header, and structure. */
import { readFileSync, statSync } from 'node:fs';
import { gifSize, isGif, walkGif } from './image/gif.ts';
import { IMAGE_TYPES, type ImageType } from './image/imageReadings.ts';
import { type ImageSize, imageSize } from './image/imageSize.ts';
import type { ImageStructure } from './image/imageStructure.ts';
import { walkAvif, walkPng, walkWebp } from './image/imageStructure.ts';
import { walkJpeg } from './image/jpeg.ts';
import { otherFormat, sniffImage } from './image/sniffImage.ts';

export interface ImageInspection {
  type: ImageType;
  /** Size in the header, before rotation. Undefined when missing. */
  size: ImageSize | undefined;
  structure: ImageStructure;
}

/** File of any type that is not accepted. */
export interface OtherFile {
  type: undefined;
  /** Name of the image type that the file begins like. Undefined when none is known. */
  name: string | undefined;
}

/** Larger files are not read into memory. */
const MAX_INSPECTED_BYTES = 64 * 1024 * 1024;

const WALKS: Record<ImageType, (file: Buffer) => ImageStructure> = {
  'image/png': walkPng,
  'image/jpeg': walkJpeg,
  'image/webp': walkWebp,
  'image/gif': walkGif,
  'image/avif': walkAvif,
};

/** Undefined when the file is too large. */
export function inspectImage(path: string): ImageInspection | OtherFile | undefined {
  if (statSync(path).size > MAX_INSPECTED_BYTES) return undefined;
  const file = readFileSync(path);
  const sniffed = isGif(file) ? 'image/gif' : sniffImage(file);
  const type = IMAGE_TYPES.find((each) => each === sniffed);
  if (type === undefined) return { type, name: otherFormat(file) };
  const size = type === 'image/gif' ? gifSize(file) : imageSize(file, type);
  return { type, size, structure: WALKS[type](file) };
}
