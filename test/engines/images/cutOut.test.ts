import { readFileSync, statSync } from 'node:fs';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { openImageWork } from './opened.ts';
import { makeScenes, overlap } from './scenes.ts';

const ASTRONAUT = readFileSync('test/fixtures/cutout/astronaut.png');
const ASTRONAUT_MASK = 'test/fixtures/cutout/astronautMask.png';

describe('a cut-out', () => {
  const { work, put } = openImageWork();

  async function cut(picture: Buffer): Promise<{ path: string; width: number; height: number }> {
    const made = await work.run('cutOut', put(picture));
    if ('none' in made) throw new Error(`nothing was cut out: ${made.none}`);
    return made;
  }

  function plain(width: number, height: number, alpha = 1): Promise<Buffer> {
    return sharp({ create: { width, height, channels: 4, background: { r: 200, g: 30, b: 30, alpha } } })
      .png()
      .toBuffer();
  }

  test('contains the subject of scenes with a known mask, without what shows through its openings', async () => {
    for (const { name, picture, mask } of await makeScenes()) {
      const { path } = await cut(picture);
      const share = await overlap(path, mask);
      expect([name, share >= 0.97]).toEqual([name, true]);
    }
  });

  test('contains the person in the example of the documentation', async () => {
    const { path, width, height } = await cut(ASTRONAUT);
    expect([width, height]).toEqual([512, 512]);
    const mask = await sharp(ASTRONAUT_MASK).extractChannel(0).raw().toBuffer();
    // The table behind the helmet has the same colour, and both are removed.
    expect(await overlap(path, mask)).toBeGreaterThan(0.7);
  });

  test('is the same for the same image, whatever was cut out before', async () => {
    const [scene] = await makeScenes();
    const picture = scene?.picture ?? Buffer.alloc(0);
    const first = await cut(picture);
    await cut(ASTRONAUT);
    const second = await cut(picture);
    const pixels = (path: string) => sharp(path).raw().toBuffer();
    expect((await pixels(second.path)).equals(await pixels(first.path))).toBe(true);
  });

  test('has the size of the displayed image, and no metadata', async () => {
    const [scene] = await makeScenes();
    const turned = await sharp(scene?.picture)
      .withExif({ IFD0: { Copyright: 'me' } })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    const { path, width, height } = await cut(turned);
    expect([width, height]).toEqual([400, 480]);
    const { exif, icc, format, hasAlpha, orientation } = await sharp(path).metadata();
    expect({ exif, icc, format, hasAlpha, orientation }).toEqual({ format: 'png', hasAlpha: true });
  });

  test('leaves nothing of the background under transparent pixels', async () => {
    const [scene] = await makeScenes();
    const { path } = await cut(scene?.picture ?? Buffer.alloc(0));
    const rgba = await sharp(path).raw().toBuffer();
    let left = 0;
    for (let at = 0; at < rgba.length; at += 4) {
      if (rgba[at + 3] === 0) left += (rgba[at] ?? 0) + (rgba[at + 1] ?? 0) + (rgba[at + 2] ?? 0);
    }
    expect(left).toBe(0);
  });

  test('keeps the alpha of an image that is already cut out', async () => {
    const [scene] = await makeScenes();
    const { path } = await cut(scene?.picture ?? Buffer.alloc(0));
    const again = await cut(readFileSync(path));
    const pixels = (from: string) => sharp(from).raw().toBuffer();
    expect((await pixels(again.path)).equals(await pixels(path))).toBe(true);
  });

  test.each<[string, () => Promise<Buffer>, string]>([
    ['one colour', () => plain(300, 300), 'no_subject'],
    ['a line', () => plain(600, 2), 'no_subject'],
    ['one pixel', () => plain(1, 1), 'no_subject'],
    ['nothing visible', () => plain(300, 300, 0), 'transparent'],
  ])('of %s does not exist, and nothing is written', async (_, make, none) => {
    const input = put(await make());
    expect(await work.run('cutOut', input)).toEqual({ none });
    expect(() => statSync(input.target)).toThrow('ENOENT');
  });

  test.each<[string, () => Promise<Buffer> | Buffer]>([
    ['text', () => Buffer.from('no picture')],
    ['nothing', () => Buffer.alloc(0)],
    ['a cut PNG', () => ASTRONAUT.subarray(0, 90_000)],
    ['more pixels than it may have', () => plain(5_761, 5_760)],
  ])('of %s is refused, nothing is written, and later work succeeds', async (_, make) => {
    const input = put(await make());
    await expect(work.run('cutOut', input)).rejects.toMatchObject({ code: 'invalid_media' });
    expect(() => statSync(input.target)).toThrow('ENOENT');
    expect(await work.run('cutOut', put(await plain(300, 300)))).toEqual({ none: 'no_subject' });
  });

  test('accepts greyscale, palette, CMYK and 16-bit images', async () => {
    const [scene] = await makeScenes();
    const of = () => sharp(scene?.picture);
    const kinds = [
      of().greyscale().png(),
      of().png({ palette: true }),
      of().toColourspace('cmyk').jpeg(),
      of().toColourspace('rgb16').png(),
      of().webp(),
    ];
    for (const kind of kinds) expect(await cut(await kind.toBuffer())).toMatchObject({ width: 480, height: 400 });
  });

  test('ends when it is aborted', async () => {
    await expect(work.run('cutOut', put(ASTRONAUT), { signal: AbortSignal.timeout(5) })).rejects.toThrow('timeout');
  });
});
