import { describe, expect, it } from 'vitest';
import { lookAtImage } from '../../../engines/images/lookAtImage.ts';
import { originals, SIDE } from '../../fixtures/badImages/originals.ts';
import { bitPng } from '../../fixtures/badImages/parts.ts';
import { exif, exifSegment, greyPng, inserted } from '../media/pictureFiles.ts';
import { MAX_PIXELS, openImageWork } from './opened.ts';

const { put } = openImageWork();
const MB = 1024 * 1024;
const BOUNDS = { field: 'image', minPixels: 65_536, maxPixels: MAX_PIXELS, maxBytes: 25 * MB };

async function said(bytes: Buffer, bounds: Partial<typeof BOUNDS> = {}): Promise<string> {
  const look = lookAtImage({ ...BOUNDS, ...bounds, path: put(bytes).path });
  return look.then(
    ({ contentType, width, height }) => `${contentType} ${width}x${height}`,
    (error: Error & { code: string }) => `${error.code}: ${error.message}`,
  );
}

describe('an image check', () => {
  it('returns type and size in every accepted format', async () => {
    for (const [kind, bytes] of Object.entries(await originals())) {
      expect(await said(bytes)).toBe(`image/${kind} ${SIDE}x${SIDE}`);
    }
  });

  it('returns the displayed size', async () => {
    const { jpeg } = await originals();
    const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
    const wide = Buffer.from(jpeg);
    wide.writeUInt16BE(400, frame + 7);
    for (const orientation of [1, 4, 9]) {
      expect(await said(inserted(wide, 2, exifSegment(exif(orientation))))).toBe('image/jpeg 400x260');
    }
    for (const orientation of [5, 6, 7, 8]) {
      expect(await said(inserted(wide, 2, exifSegment(exif(orientation))))).toBe('image/jpeg 260x400');
    }
  });

  it('compares the size with the bounds of the route, and names them', async () => {
    const words = 'width times height must be between 65536 and 33177600.';
    expect(await said(bitPng(257, 255))).toBe(`invalid_media: image has 257 × 255 pixels; ${words}`);
    expect(await said(bitPng(256, 256))).toBe('image/png 256x256');
    const upscale = { minPixels: 1, maxPixels: 10_000 };
    expect(await said(bitPng(100, 100), upscale)).toBe('image/png 100x100');
    expect(await said(bitPng(101, 100), upscale)).toContain('must be between 1 and 10000.');
  });

  it('accepts fewer bytes than the limit', async () => {
    const small = greyPng({ width: 300, height: 300 });
    const padded = inserted(small, 33, Buffer.alloc(0));
    expect(await said(padded, { maxBytes: padded.length + 1 })).toBe('image/png 300x300');
    expect(await said(Buffer.alloc(25 * MB))).toBe(
      'payload_too_large: image has 26214400 bytes; an image must be smaller than 25 MB.',
    );
  });

  it('names the refused type and the accepted types', async () => {
    expect(await said(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))).toBe(
      'invalid_media: image is a file of the type SVG, which is not accepted; ' +
        'accepted are PNG, JPEG, WebP, GIF and AVIF.',
    );
  });
});
