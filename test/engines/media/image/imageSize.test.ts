/** Sizes that image headers declare, and their use (TEXT-10). */
import { describe, expect, it } from 'vitest';
import { imageSize } from '../../../../engines/media/image/imageSize.ts';
import { sniffImage } from '../../../../engines/media/image/sniffImage.ts';
import { heif, jpeg, png, webp } from '../../../api/text/pictures.ts';
import { MAX_HOSTILE_MS, ranMs } from '../../../harness/stall.ts';

const sizeOf = (bytes: Buffer) => imageSize(bytes, sniffImage(bytes) ?? '');

const MADE: [string, (width: number, height: number) => Buffer][] = [
  ['PNG', png],
  ['JPEG', jpeg],
  ['lossy WebP', (width, height) => webp('VP8 ', width, height)],
  ['lossless WebP', (width, height) => webp('VP8L', width, height)],
  ['extended WebP', (width, height) => webp('VP8X', width, height)],
  ['HEIC', (width, height) => heif('heic', width, height)],
  ['HEIF', (width, height) => heif('mif1', width, height)],
  ['AVIF', (width, height) => heif('avif', width, height)],
];

describe('the size in an image header', () => {
  it.each(MADE)('is read from the header of a %s file', (_name, make) => {
    for (const [width, height] of [
      [64, 65],
      [1_920, 1_080],
      [16_383, 300],
    ] as const)
      expect(sizeOf(make(width, height))).toEqual({ width, height });
  });

  it.each(MADE)('of a %s file cut anywhere is unknown or correct, and never an error', (_name, make) => {
    const whole = make(300, 200);
    for (let length = 0; length < Math.min(whole.length, 400); length += 1) {
      const size = sizeOf(whole.subarray(0, length));
      if (size && (size.width !== 16 || size.height !== 16)) expect(size).toEqual({ width: 300, height: 200 });
    }
  });

  it('is searched in bounded time among millions of segments or boxes', () => {
    const startMs = ranMs();
    const segments = Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(20_000_000, 'ffe10002', 'hex')]);
    expect(imageSize(segments, 'image/jpeg')).toBeUndefined();
    expect(imageSize(Buffer.alloc(20_000_000, 0xff), 'image/jpeg')).toBeUndefined();
    expect(imageSize(Buffer.alloc(20_000_000, 'ispe'), 'image/heic')).toBeDefined();
    expect(ranMs() - startMs).toBeLessThan(MAX_HOSTILE_MS);
  });
});
