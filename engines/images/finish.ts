/** Runs in the image child only: checks an image from a provider and converts it to the requested format. */
import type { Sharp } from 'sharp';
import type { ImageFormat } from '../../domain/images/images.ts';
import { inspectImage } from '../media/inspectImage.ts';
import type { ImageFacts, SourceImage } from './imageFacts.ts';
import { ImageRefusal } from './imageRefusal.ts';
import { readHead } from './openImage.ts';
import { formatOf, keepUnchanged, openUpright, write } from './plain.ts';

export interface FinishInput extends SourceImage {
  format: ImageFormat;
  /** Written as Exif data. All other metadata is removed. */
  note?: ImageNote;
}

interface ImageNote {
  /** Name of the program that made the image. */
  software: string;
  description: string;
}

const MAX_NOTE_LENGTH = 8_000;

export const ENCODERS: Record<ImageFormat, (picture: Sharp) => Sharp> = {
  png: (picture) => picture.png({ compressionLevel: 6 }),
  // Without this, transparency would become black.
  jpeg: (picture) => picture.flatten({ background: '#ffffff' }).jpeg({ quality: 92 }),
  webp: (picture) => picture.webp({ quality: 90 }),
};

/** Returns the path of the source when nothing had to change. Throws ImageRefusal. */
export async function finish(input: FinishInput): Promise<ImageFacts> {
  const { path, target, maxPixels, format, note } = input;
  refuseStructure(path);
  const opened = { path, maxPixels, head: await readHead(path, maxPixels) };
  if (formatOf(opened.head) === format && note === undefined) {
    const kept = await keepUnchanged(opened, target);
    if (kept !== undefined) return kept;
  }
  return write(noted(ENCODERS[format](openUpright(opened)), note), target, format);
}

/** Bytes after the image are harmless and removed later. Some services sign their images there. */
function refuseStructure(path: string): void {
  const inspection = inspectImage(path);
  if (inspection === undefined) throw new ImageRefusal('is larger than 64 MB');
  if (inspection.type === undefined) throw new ImageRefusal('is no picture of a kind that is known here');
  if (inspection.structure.cut) throw new ImageRefusal('is truncated');
  if (inspection.structure.animated) throw new ImageRefusal('is animated');
}

function noted(picture: Sharp, note: ImageNote | undefined): Sharp {
  if (note === undefined) return picture;
  const words = (text: string) => text.slice(0, MAX_NOTE_LENGTH);
  return picture.withExif({
    IFD0: { Software: words(note.software), ImageDescription: words(note.description) },
  });
}
