/** Runs in the image child only: a source in the form that every service understands alike. */
import type { ImageFacts, SourceImage } from './imageFacts.ts';
import { readHead } from './openImage.ts';
import { keptAsItIs, upright, write } from './plain.ts';

/** Nobody sees the difference; and without the second pass over the codes it takes half the memory. */
const JPEG = { quality: 95, chromaSubsampling: '4:4:4', optimiseCoding: false };

/**
 * Upright, 8 bits, sRGB with or without transparency, and no notes: PNG where it was one or is transparent, JPEG else. The
 * answer names the source itself when it is so already. Throws ImageRefusal.
 */
export async function makePlain({ path, target, maxPixels }: SourceImage): Promise<ImageFacts> {
  const opened = { path, maxPixels, head: await readHead(path, maxPixels) };
  const kept = await keptAsItIs(opened, target);
  if (kept !== undefined) return kept;
  const { hasAlpha, format } = opened.head;
  const picture = upright(opened);
  if (hasAlpha || format === 'png' || format === 'gif') return write(picture.png(), target, 'png');
  return write(picture.jpeg(JPEG), target, 'jpeg');
}
