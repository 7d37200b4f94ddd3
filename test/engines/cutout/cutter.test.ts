import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CutEnd, type Cutter, createCutter } from '../../../engines/cutout/cutter.ts';
import { makeScenes, overlap } from './scenes.ts';

const ASTRONAUT = 'test/fixtures/cutout/astronaut.png';
const ASTRONAUT_MASK = 'test/fixtures/cutout/astronautMask.png';

describe('the cutter', () => {
  let folder = '';
  let cutter: Cutter;
  let files = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'farebox-cutout-'));
    cutter = createCutter({ maxChildren: 1 });
  });
  afterAll(async () => {
    cutter.close();
    await rm(folder, { recursive: true });
  });

  async function cut(picture: Buffer | string): Promise<{ end: CutEnd; path: string }> {
    files += 1;
    const path = join(folder, `${files}.png`);
    const sourcePath = typeof picture === 'string' ? picture : join(folder, `${files}.source`);
    if (typeof picture !== 'string') await writeFile(sourcePath, picture);
    return { end: await cutter.cut({ sourcePath, outputPath: path }), path };
  }

  function plain(width: number, height: number, alpha = 1): Promise<Buffer> {
    return sharp({ create: { width, height, channels: 4, background: { r: 200, g: 30, b: 30, alpha } } })
      .png()
      .toBuffer();
  }

  test('finds a person before a flag, a model and a table of the helmet’s colour', async () => {
    const { end, path } = await cut(ASTRONAUT);
    expect(end).toEqual({ end: 'cut', size: { width: 512, height: 512 } });
    const mask = await sharp(ASTRONAUT_MASK).extractChannel(0).raw().toBuffer();
    const share = await overlap(path, mask);
    expect(share).toBeGreaterThan(0.97);
  });

  test('finds the subject of scenes whose mask is known', async () => {
    for (const { name, picture, mask } of await makeScenes()) {
      const { path } = await cut(picture);
      const share = await overlap(path, mask);
      expect([name, share >= 0.97]).toEqual([name, true]);
    }
  });

  test('has one result for one picture, whatever was cut out before', async () => {
    const [scene] = await makeScenes();
    const first = await cut(scene?.picture ?? '');
    await cut(ASTRONAUT);
    const second = await cut(scene?.picture ?? '');
    const pixels = (path: string) => sharp(path).raw().toBuffer();
    expect((await pixels(second.path)).equals(await pixels(first.path))).toBe(true);
  });

  test('is of the size of the picture as shown, and carries no notes', async () => {
    const [scene] = await makeScenes();
    const turned = await sharp(scene?.picture)
      .withExif({ IFD0: { Copyright: 'me' } })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    const { end, path } = await cut(turned);
    expect(end).toEqual({ end: 'cut', size: { width: 400, height: 480 } });
    const { exif, icc, format, hasAlpha, orientation } = await sharp(path).metadata();
    expect({ exif, icc, format, hasAlpha, orientation }).toEqual({ format: 'png', hasAlpha: true });
  });

  test('leaves nothing of the background under what is transparent', async () => {
    const [scene] = await makeScenes();
    const { path } = await cut(scene?.picture ?? '');
    const rgba = await sharp(path).raw().toBuffer();
    let left = 0;
    for (let at = 0; at < rgba.length; at += 4) {
      if (rgba[at + 3] === 0) left += (rgba[at] ?? 0) + (rgba[at + 1] ?? 0) + (rgba[at + 2] ?? 0);
    }
    expect(left).toBe(0);
  });

  test('keeps the alpha of a picture that is cut out already', async () => {
    const [scene] = await makeScenes();
    const { path } = await cut(scene?.picture ?? '');
    const again = await cut(path);
    const pixels = (from: string) => sharp(from).raw().toBuffer();
    expect((await pixels(again.path)).equals(await pixels(path))).toBe(true);
  });

  test.each<[string, () => Promise<Buffer> | Buffer, CutEnd['end']]>([
    ['text', () => Buffer.from('no picture'), 'undecodable'],
    ['nothing', () => Buffer.alloc(0), 'undecodable'],
    ['a cut PNG', async () => (await sharp(ASTRONAUT).png().toBuffer()).subarray(0, 90_000), 'undecodable'],
    ['more pixels than it may have', () => plain(5_761, 5_760), 'undecodable'],
    ['one colour', () => plain(300, 300), 'no_subject'],
    ['a line', () => plain(600, 2), 'no_subject'],
    ['one pixel', () => plain(1, 1), 'no_subject'],
    ['nothing visible', () => plain(300, 300, 0), 'transparent'],
  ])('refuses %s, writes nothing, and goes on', async (_, make, expected) => {
    const { end, path } = await cut(await make());
    expect(end.end).toBe(expected);
    await expect(stat(path)).rejects.toThrow('ENOENT');
  });

  test('greys, palettes, CMYK and sixteen bits are pictures too', async () => {
    const [scene] = await makeScenes();
    const of = () => sharp(scene?.picture);
    const kinds = [
      of().greyscale().png(),
      of().png({ palette: true }),
      of().toColourspace('cmyk').jpeg(),
      of().toColourspace('rgb16').png(),
      of().webp(),
    ];
    for (const kind of kinds) {
      const { end } = await cut(await kind.toBuffer());
      expect(end).toEqual({ end: 'cut', size: { width: 480, height: 400 } });
    }
  });

  test('an aborted cut ends', async () => {
    const question = { sourcePath: ASTRONAUT, outputPath: join(folder, 'aborted.png') };
    await expect(cutter.cut(question, AbortSignal.timeout(30))).rejects.toThrow('timeout');
  });

  test('more than may wait are told when to come back', async () => {
    const narrow = createCutter({ maxChildren: 1, maxWaiting: 0 });
    const ask = (name: string) => narrow.cut({ sourcePath: ASTRONAUT, outputPath: join(folder, name) });
    const first = ask('first.png');
    await expect(ask('second.png')).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 5 });
    expect((await first).end).toBe('cut');
    narrow.close();
  });

  test('whoever waits for too long is told so, too', async () => {
    const narrow = createCutter({ maxChildren: 1, maxWaitMs: 20 });
    const ask = (name: string) => narrow.cut({ sourcePath: ASTRONAUT, outputPath: join(folder, name) });
    const first = ask('served.png');
    await expect(ask('late.png')).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 5 });
    expect((await first).end).toBe('cut');
    narrow.close();
  });
});
