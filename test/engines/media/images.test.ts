import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ImageOutcome, measureImage } from '../../../engines/media/measureImage.ts';
import { heif, jpeg, png as pngHead, webp as webpHead } from '../../api/text/pictures.ts';
import { longestTurn, MAX_TURN_MS } from '../../harness/stall.ts';
import {
  AFTER_JPEG_START,
  AFTER_PNG_HEAD,
  exif,
  exifSegment,
  gif,
  greyPng,
  inserted,
  PICTURES,
  type PictureFormat,
  picture,
  pngChunk,
} from './pictureFiles.ts';
import { isLong, mediaTools, testFolder } from './recordings.ts';

// A test takes about a second, and longer on a busy machine.

const folder = testFolder();
const workFolder = join(folder, 'work');
const MB = 1024 * 1024;
const BOUNDS = { maxBytes: 25 * MB, minPixels: 65_536, maxPixels: 33_177_600 };
const SIZE = { width: 321, height: 257 };
const real = {} as Record<PictureFormat, Buffer>;

beforeAll(() => {
  mkdirSync(workFolder);
  for (const format of PICTURES) real[format] = picture(folder, format, SIZE);
});
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;

function measure(file: Buffer | string, bounds = BOUNDS): Promise<ImageOutcome> {
  files += 1;
  const path = join(folder, `picture-${files}`);
  writeFileSync(path, file);
  return measureImage({ ...mediaTools(), workFolder }, { ...bounds, path });
}

async function sizeOf(file: Buffer): Promise<string> {
  const outcome = await measure(file);
  return outcome.ok ? `${outcome.image.width}x${outcome.image.height}` : outcome.message;
}

describe('the size of an image', () => {
  it('is the decoded size in every accepted format, also when it is odd', async () => {
    for (const format of PICTURES) expect(await sizeOf(real[format]), format).toBe('321x257');
  });

  it('is the displayed size: Exif data may rotate it', async () => {
    const jpegSized = async (orientation: number) =>
      sizeOf(inserted(real.jpg, AFTER_JPEG_START, exifSegment(exif(orientation))));
    expect(await jpegSized(3)).toBe('321x257');
    expect(await jpegSized(5)).toBe('257x321');
    expect(await jpegSized(8)).toBe('257x321');
    expect(await jpegSized(9)).toBe('321x257');
    expect(await sizeOf(inserted(real.png, AFTER_PNG_HEAD, pngChunk('eXIf', exif(6))))).toBe('257x321');
  });

  it('may equal the bounds, but not exceed them by a pixel', async () => {
    expect((await measure(greyPng({ width: 256, height: 256 }))).ok).toBe(true);
    expect((await measure(greyPng({ width: 255, height: 257 }))).ok).toBe(false);
    expect((await measure(greyPng({ width: 7_680, height: 4_320 }))).ok).toBe(true);
    expect((await measure(greyPng({ width: 11_059, height: 3_001 }))).ok).toBe(false);
  });

  it('is found behind thirty thousand Exif entries, a gigabyte of comment and many frames', async () => {
    const crowded = exifSegment(exif(6, 30_000));
    expect(await sizeOf(inserted(real.jpg, AFTER_JPEG_START, crowded))).toBe('321x257');
    const crowdedPng = pngChunk('eXIf', exif(6, 30_000));
    expect(await sizeOf(inserted(real.png, AFTER_PNG_HEAD, crowdedPng))).toBe('321x257');
    expect(await sizeOf(gif({ width: 300, height: 300 }, isLong() ? 1_000_000 : 20_000))).toBe('300x300');
    const comment = deflateSync(Buffer.alloc((isLong() ? 1_000 : 100) * MB));
    const bomb = pngChunk('zTXt', Buffer.concat([Buffer.from('Comment\0\0', 'latin1'), comment]));
    expect(await sizeOf(inserted(real.png, AFTER_PNG_HEAD, bomb))).toMatch(/321x257|decoded/);
  });
});

const ZIP = Buffer.from('PK\x03\x04\x14\0\0\0PK\x05\x06', 'latin1');
const PAGE = Buffer.from('<html><script>alert(1)</script></html>');
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="400"><image href="/etc/passwd"/></svg>';
const half = (file: Buffer, share = 0.5) => file.subarray(0, Math.floor(file.length * share));
const joined = (...parts: Buffer[]) => Buffer.concat(parts);

/** Name, changes to real images, and the expected refusal. */
const BAD: [string, () => Buffer | string, RegExp][] = [
  ['an empty file', () => '', /empty/],
  ['a byte', () => 'x', /not accepted/],
  ['noise', () => randomBytes(50_000), /not accepted/],
  ['a page', () => PAGE, /not accepted/],
  ['an SVG', () => SVG, /not accepted/],
  ['an SVG behind its declaration', () => `<?xml version="1.0"?>${SVG}`, /not accepted/],
  ['a playlist', () => '#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n', /not accepted/],
  ['a list of files', () => "ffconcat version 1.0\nfile '/etc/passwd'\n", /not accepted/],
  ['a PDF', () => '%PDF-1.4\n%%EOF', /not accepted/],
  ['an archive', () => ZIP, /not accepted/],
  ['a BMP', () => joined(Buffer.from('BM'), Buffer.alloc(200)), /not accepted/],
  ['a TIFF', () => joined(Buffer.from('II*\0'), Buffer.alloc(200)), /not accepted/],
  ['a HEIC', () => heif('heic', 400, 400), /not accepted/],
  ['a PNG of 64k × 64k in a kilobyte', () => pngHead(65_535, 65_535), /65535 × 65535 pixels/],
  ['a PNG of 4 G × 1', () => pngHead(0xffff_ffff, 1), /pixels/],
  ['a PNG without a width', () => pngHead(0, 400), /damaged/],
  ['a JPEG of 64k × 64k', () => joined(jpeg(65_535, 65_535), Buffer.from([0xff, 0xd9])), /pixels|truncated/],
  ['a WebP of 16k × 16k', () => webpHead('VP8X', 16_384, 16_384), /pixels|truncated/],
  ['a GIF of 64k × 64k', () => gif({ width: 65_535, height: 65_535 }, 1), /65535 × 65535 pixels/],
  ['an AVIF of 64k × 64k', () => heif('avif', 65_535, 65_535), /pixels|only an image|truncated/],
  ['a small PNG', () => pngHead(64, 64), /between 65536/],
  ['half a PNG', () => half(real.png), /truncated/],
  ['nine tenths of a PNG', () => half(real.png, 0.9), /truncated/],
  ['a PNG without its end', () => real.png.subarray(0, -12), /truncated/],
  ['half a JPEG', () => half(real.jpg), /truncated/],
  ['a JPEG without its end', () => real.jpg.subarray(0, -2), /truncated/],
  ['half a WebP', () => half(real.webp), /truncated/],
  ['half a GIF', () => half(real.gif), /truncated/],
  ['a GIF without its end', () => real.gif.subarray(0, -1), /truncated/],
  ['half an AVIF', () => half(real.avif), /truncated/],
  ['a PNG with an archive behind', () => joined(real.png, ZIP), /not only an image/],
  ['a PNG with a page behind', () => joined(real.png, PAGE), /not only an image/],
  ['a PNG with noise behind', () => joined(real.png, randomBytes(2_000)), /not only an image/],
  ['a JPEG with an archive behind', () => joined(real.jpg, ZIP), /not only an image/],
  ['a JPEG with an archive behind its preview', () => joined(real.jpg, real.jpg, ZIP), /not only an image/],
  ['a JPEG of a million empty pictures', () => Buffer.alloc(4e6, 'ffd8ffd9', 'hex'), /not only|damaged/],
  ['a GIF with a page behind', () => joined(real.gif, PAGE), /not only an image/],
  ['a WebP with an archive behind', () => joined(real.webp, ZIP), /not only an image/],
  ['an AVIF with an archive behind', () => joined(real.avif, ZIP), /not only an image|truncated/],
  ['a page that begins as a GIF', () => `GIF89a${PAGE.toString('latin1').repeat(20)}`, /image/],
  ['a page that begins as a PNG', () => `\x89PNG\r\n\x1a\n${PAGE.toString('latin1')}`, /image/],
  ['a page that begins as a JPEG', () => joined(Buffer.from([0xff, 0xd8, 0xff]), PAGE), /image/],
  ['an animated PNG', () => inserted(real.png, AFTER_PNG_HEAD, pngChunk('acTL', Buffer.alloc(8))), /animated/],
  ['an animated WebP', () => animatedWebp(), /animated/],
  ['a PNG with fewer rows than it says', () => greyPng({ width: 400, height: 400 }, 10), /decoded/],
  ['a PNG with a broken middle', () => broken(real.png), /decoded/],
  ['a JPEG of two hundred scans', () => joined(half(real.jpg), ...scans(200)), /not only an image/],
];

function broken(file: Buffer): Buffer {
  const copy = Buffer.from(file);
  copy.fill(0xa5, Math.floor(copy.length / 2), Math.floor(copy.length / 2) + 40);
  return copy;
}

function scans(count: number): Buffer[] {
  const scan = Buffer.from([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 1, 2, 3]);
  return Array.from({ length: count }, () => scan);
}

function animatedWebp(): Buffer {
  const file = Buffer.concat([webpHead('VP8X', 400, 400).subarray(0, 30), Buffer.from('ANIM\x06\0\0\0\0\0\0\0\0\0')]);
  file.writeUInt32LE(10, 16);
  file.writeUInt32LE(file.length - 8, 4);
  return file;
}

describe('images that are refused quickly, without a trace on disk', () => {
  for (const [name, make, words] of BAD) {
    it(name, async () => {
      const outcome = await measure(make());
      expect(outcome.ok ? 'accepted' : outcome.code).toBe('invalid_media');
      expect(outcome.ok ? '' : outcome.message).toMatch(words);
      expect(readdirSync(workFolder)).toEqual([]);
    });
  }

  it('with more bytes than the limit', async () => {
    const outcome = await measure(real.png, { ...BOUNDS, maxBytes: 100 });
    expect(outcome.ok ? '' : outcome.code).toBe('payload_too_large');
  });
});

describe('the measuring of images', () => {
  it('leaves the event loop free and survives mutated files', async () => {
    const mutants = PICTURES.flatMap((format) =>
      Array.from({ length: isLong() ? 60 : 2 }, () => mutated(real[format])),
    );
    const measureAll = async () => {
      for (const mutant of mutants) {
        const outcome = await measure(mutant);
        if (outcome.ok) expect(outcome.image.width * outcome.image.height).toBeLessThanOrEqual(33_177_600);
      }
    };
    expect(await longestTurn(measureAll, MAX_TURN_MS)).toBeLessThan(MAX_TURN_MS);
  });

  it('stops when it is aborted, and without a working ffmpeg is an error, not an invalid image', async () => {
    const path = join(folder, 'whole.png');
    writeFileSync(path, real.png);
    const request = { ...BOUNDS, path };
    const aborted = measureImage(mediaTools(), { ...request, signal: AbortSignal.abort() });
    await expect(aborted).rejects.toThrow(/abort/);
    const nowhere = { ffmpegPath: '/nowhere/ffmpeg', ffprobePath: '/nowhere/ffprobe', workFolder };
    await expect(measureImage(nowhere, request)).rejects.toThrow('ffmpeg could not be run');
  });
});

function mutated(original: Buffer): Buffer {
  const copy = Buffer.from(original);
  for (let change = 0; change < 6; change += 1) {
    const reach = Math.random() < 0.7 ? Math.min(400, copy.length) : copy.length;
    copy.writeUInt8(Math.floor(Math.random() * 256), Math.floor(Math.random() * reach));
  }
  return copy;
}
