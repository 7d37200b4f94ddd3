import { readFileSync } from 'node:fs';
import sharp, { type Sharp } from 'sharp';
import { describe, expect, it } from 'vitest';
import { exif, exifSegment, inserted, pngChunk } from '../media/pictureFiles.ts';
import { openImageWork } from './opened.ts';

const { work, put } = openImageWork();
const WIDTH = 320;
const HEIGHT = 240;
/** Colours of its quarters, left to right and top to bottom. */
const COLOURS = [
  [255, 0, 0],
  [0, 255, 0],
  [0, 0, 255],
  [255, 255, 255],
] as const;
const LETTERS = new Map([
  ['100', 'r'],
  ['010', 'g'],
  ['001', 'b'],
  ['111', 'w'],
  ['110', 'y'],
]);

function quarters(): Sharp {
  const pixels = Buffer.alloc(WIDTH * HEIGHT * 3);
  for (let at = 0; at < WIDTH * HEIGHT; at += 1) {
    const row = Math.floor(at / WIDTH);
    const colour = COLOURS[(row < HEIGHT / 2 ? 0 : 2) + (at % WIDTH < WIDTH / 2 ? 0 : 1)];
    pixels.set(colour ?? [], at * 3);
  }
  return sharp(pixels, { raw: { width: WIDTH, height: HEIGHT, channels: 3 } });
}

async function plain(bytes: Buffer) {
  const input = put(bytes);
  const made = await work.run('makePlain', input);
  const file = readFileSync(made.path);
  expect(made.bytes).toBe(file.length);
  return { ...made, file, isSource: made.path === input.path, head: await sharp(file).metadata() };
}

/** Initial letters of the colours of its quarters. */
async function seen(file: Buffer): Promise<string> {
  const small = await sharp(file).removeAlpha().resize(2, 2, { kernel: 'nearest', fit: 'fill' }).raw().toBuffer();
  const word = (at: number) => {
    const colour = [...small.subarray(at * 3, at * 3 + 3)];
    const bright = colour.map((value) => (value > Math.max(...colour) * 0.7 ? 1 : 0));
    return LETTERS.get(bright.join('')) ?? '?';
  };
  return [0, 1, 2, 3].map(word).join('');
}

describe('a plain source image', () => {
  it('is upright for any orientation in its metadata', async () => {
    const jpeg = await quarters().jpeg().toBuffer();
    const shown = ['rgbw', 'rgbw', 'grwb', 'wbgr', 'bwrg', 'rbgw', 'brwg', 'wgbr', 'gwrb', 'rgbw'];
    for (const [orientation, words] of shown.entries()) {
      const turned = inserted(jpeg, 2, exifSegment(exif(orientation)));
      const { file, width, height, head } = await plain(turned);
      expect(await seen(file), `${orientation}`).toBe(words);
      const onSide = orientation >= 5 && orientation <= 8;
      expect([width, height], `${orientation}`).toEqual(onSide ? [HEIGHT, WIDTH] : [WIDTH, HEIGHT]);
      expect(head.orientation).toBeUndefined();
    }
  });

  it('has 8 bits and sRGB colours, whatever the original had', async () => {
    const grey = quarters().png().toBuffer();
    const sources = {
      cmyk: await quarters().toColourspace('cmyk').jpeg().toBuffer(),
      deep: await quarters().toColourspace('rgb16').png().toBuffer(),
      wide: await quarters().withIccProfile('p3').jpeg().toBuffer(),
      palette: await quarters().png({ palette: true }).toBuffer(),
      deepAvif: await quarters().avif({ bitdepth: 12, effort: 0 }).toBuffer(),
      gif: await quarters().gif().toBuffer(),
      grey: await sharp(await grey)
        .greyscale()
        .jpeg()
        .toBuffer(),
      bit: await sharp(await grey)
        .greyscale()
        .png({ palette: true, colours: 2 })
        .toBuffer(),
    };
    for (const [name, source] of Object.entries(sources)) {
      const { head, file } = await plain(source);
      const { space, depth, hasProfile, isPalette = false } = head;
      expect({ space, depth, hasProfile, isPalette }, name).toEqual({
        space: 'srgb',
        depth: 'uchar',
        hasProfile: false,
        isPalette: false,
      });
      // CMYK has no such green.
      if (name !== 'grey' && name !== 'bit') expect(await seen(file), name).toBe(name === 'cmyk' ? 'rybw' : 'rgbw');
    }
  });

  it('is a PNG if the original was one or is transparent, else a JPEG', async () => {
    const transparent = () => quarters().ensureAlpha(0.5);
    const turned = { orientation: 6 };
    const kinds = [
      [await quarters().withMetadata(turned).png().toBuffer(), 'image/png'],
      [await quarters().withMetadata(turned).jpeg().toBuffer(), 'image/jpeg'],
      [await quarters().withMetadata(turned).webp().toBuffer(), 'image/jpeg'],
      [await transparent().withMetadata(turned).webp().toBuffer(), 'image/png'],
      [await transparent().avif({ effort: 0 }).toBuffer(), 'image/png'],
      [await quarters().avif({ effort: 0 }).toBuffer(), 'image/jpeg'],
      [await quarters().gif().toBuffer(), 'image/png'],
    ] as const;
    for (const [source, contentType] of kinds) {
      const made = await plain(source);
      expect(made.contentType).toBe(contentType);
      expect(`image/${made.head.format}`).toBe(contentType);
    }
  });

  it('has no metadata, and the same pixels if nothing else had to change', async () => {
    const secret = 'taken at home, 52.5 N';
    const noted = (picture: Sharp) =>
      picture.withExif({ IFD0: { Copyright: secret } }).withXmp(`<x:xmpmeta>${secret}</x:xmpmeta>`);
    const pngText = pngChunk('tEXt', Buffer.from(`Comment\0${secret}`));
    const sources = [
      await noted(quarters()).jpeg().toBuffer(),
      await noted(quarters()).webp().toBuffer(),
      await noted(quarters().ensureAlpha(0.5)).webp().toBuffer(),
      inserted(await noted(quarters()).png().toBuffer(), 33, pngText),
    ];
    for (const source of sources) {
      expect(source.includes(secret)).toBe(true);
      const { file, isSource } = await plain(source);
      expect(isSource).toBe(false);
      expect(file.includes(secret)).toBe(false);
      const before = await sharp(source).raw().toBuffer();
      expect(before.equals(await sharp(file).raw().toBuffer())).toBe(true);
    }
  });

  it('is the original file if that is plain and can be decoded', async () => {
    const jpeg = await quarters().jpeg().toBuffer();
    for (const source of [jpeg, await quarters().png().toBuffer(), await quarters().webp().toBuffer()]) {
      const { isSource, file } = await plain(source);
      expect(isSource).toBe(true);
      expect(file.equals(source)).toBe(true);
    }
    const broken = Buffer.from(jpeg);
    broken.fill(0, jpeg.indexOf(Buffer.from([0xff, 0xc4])) + 4, jpeg.indexOf(Buffer.from([0xff, 0xda])));
    await expect(plain(broken)).rejects.toMatchObject({ code: 'invalid_media' });
  });

  it('is refused above the maximum number of pixels', async () => {
    const input = { ...put(await quarters().png().toBuffer()), maxPixels: WIDTH * HEIGHT - 1 };
    await expect(work.run('makePlain', input)).rejects.toMatchObject({ code: 'invalid_media' });
  });
});
