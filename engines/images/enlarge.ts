/** Runs in the image child only: enlarges an image by resampling. No detail is invented. */
import { openCanvas } from './editCanvas.ts';
import type { ImageFacts } from './imageFacts.ts';
import { write } from './plain.ts';

export interface EnlargeInput {
  path: string;
  target: string;
  maxPixels: number;
  /** Size of the result. */
  width: number;
  height: number;
}

/** Reduces the softness from resampling. More would draw halos. */
const SHARPENING = { sigma: 0.9, m1: 0.4, m2: 1.2 };

/** Writes a PNG. Throws ImageRefusal. */
export async function enlarge({ path, target, maxPixels, width, height }: EnlargeInput): Promise<ImageFacts> {
  const { picture } = await openCanvas(path, maxPixels);
  const enlarged = picture.resize({ width, height, fit: 'fill', kernel: 'lanczos3' }).sharpen(SHARPENING);
  return write(enlarged.png({ compressionLevel: 6 }), target, 'png');
}
