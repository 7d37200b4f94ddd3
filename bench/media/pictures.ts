/** Pictures for benchmarks: a photograph enlarged, and one whose file is as large as a source may be. */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import sharp from 'sharp';

const PORTRAIT = path.join(import.meta.dirname, '../../../test/fixtures/cutout/astronaut.png');

export async function photograph({ width, height }: { width: number; height: number }): Promise<Buffer> {
  return await sharp(PORTRAIT).resize(width, height).jpeg({ quality: 90 }).toBuffer();
}

/** Noise cannot be packed: three bytes a pixel, and a thousandth for the form. */
export async function noisePng(mostBytes: number): Promise<Buffer> {
  const side = Math.floor(Math.sqrt(mostBytes / 3.01));
  const raw = { width: side, height: side, channels: 3 } as const;
  return await sharp(randomBytes(side * side * 3), { raw })
    .png({ compressionLevel: 0 })
    .toBuffer();
}
