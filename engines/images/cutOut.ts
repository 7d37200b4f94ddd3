/** Runs in the image child only: removes the background of an image. */
import { fromPixels, openCanvas, type Pixels, pixelsOf } from './editCanvas.ts';
import { findSubject } from './findSubject.ts';
import type { ImageFacts, SourceImage } from './imageFacts.ts';
import { write } from './plain.ts';

/** Reason why nothing was cut out. */
export interface NoCutOut {
  none: 'transparent' | 'no_subject';
}

/** Smallest visible alpha. */
const MIN_SEEN = 16;
/** Share of the edge. An image with this much transparent edge is already cut out and stays as it is. */
const CUT_BEFORE_SHARE = 0.5;

/** Writes a PNG with alpha. Throws ImageRefusal. */
export async function cutOut({ path, target, maxPixels }: SourceImage): Promise<ImageFacts | NoCutOut> {
  const picture = await pixelsOf(await openCanvas(path, maxPixels));
  if (!isSeen(picture)) return { none: 'transparent' };
  if (!isCutBefore(picture)) {
    const subject = await findSubject(picture);
    if (subject === undefined) return { none: 'no_subject' };
    keepOnly(picture, subject);
  }
  return write(fromPixels(picture).png({ compressionLevel: 6 }), target, 'png');
}

function isSeen({ data }: Pixels): boolean {
  for (let at = 3; at < data.length; at += 4) if ((data[at] ?? 0) >= MIN_SEEN) return true;
  return false;
}

function isCutBefore({ data, width, height }: Pixels): boolean {
  let clear = 0;
  const look = (x: number, y: number) => {
    if ((data[4 * (y * width + x) + 3] ?? 0) < MIN_SEEN) clear += 1;
  };
  for (let x = 0; x < width; x += 1) for (const y of [0, height - 1]) look(x, y);
  for (let y = 0; y < height; y += 1) for (const x of [0, width - 1]) look(x, y);
  return clear >= CUT_BEFORE_SHARE * 2 * (width + height);
}

/** Clears the colours of transparent pixels, so that no background remains under them. */
function keepOnly({ data }: Pixels, subject: Buffer): void {
  for (let pixel = 0; pixel < subject.length; pixel += 1) {
    const at = 4 * pixel;
    const alpha = Math.round(((data[at + 3] ?? 0) * (subject[pixel] ?? 0)) / 255);
    data[at + 3] = alpha;
    if (alpha === 0) data[at] = data[at + 1] = data[at + 2] = 0;
  }
}
