import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { createImageWork } from '../../../../engines/images/imageWork.ts';
import { createLocalImages } from '../../../../providers/local/images/localImages.ts';
import type { ImageEdit, ImageFile, ImageOrder } from '../../../../providers/shared/mediaProvider.ts';
import { cardSize, createTestCards } from '../../../../providers/simulator/testCard.ts';

const workFolder = mkdtempSync(join(tmpdir(), 'farebox-edits-'));
const work = createImageWork({ maxChildren: 1 });
const local = createLocalImages(work);
const cards = createTestCards(work);
const context = { workFolder, signal: new AbortController().signal };
afterAll(() => {
  work.close();
  rmSync(workFolder, { recursive: true, force: true });
});

type Channels = [number, number, number, number?];

/** An image of 320 x 240 pixels in one colour; its left half may have another. */
async function picture(name: string, colour: Channels, left: Channels = colour): Promise<ImageFile> {
  const data = Buffer.alloc(320 * 240 * 4);
  for (let at = 0; at < 320 * 240; at += 1) {
    const [red, green, blue, alpha = 255] = at % 320 < 160 ? left : colour;
    data.set([red, green, blue, alpha], at * 4);
  }
  const path = join(workFolder, name);
  await sharp(data, { raw: { width: 320, height: 240, channels: 4 } })
    .png()
    .toFile(path);
  return { path, contentType: 'image/png', width: 320, height: 240 };
}

const asked = { upstreamModel: 'image-library', endUser: 'test' };

async function edited(prompt: string, images: ImageFile[], more: Partial<ImageEdit> = {}) {
  const edit: ImageEdit = {
    ...asked,
    prompt,
    images,
    format: 'png',
    safeMode: false,
    skipsThinking: false,
    ...more,
  };
  local.checkEdit?.(edit);
  const made = await local.editImage?.(edit, context);
  const bytes = readFileSync(made?.path ?? '');
  const { data, info } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number) => [...data.subarray((y * info.width + x) * 4, (y * info.width + x) * 4 + 4)];
  return { made, bytes, size: [info.width, info.height], at };
}

describe('local edits', () => {
  it('apply the ordered steps in sequence', async () => {
    const base = await picture('base.png', [100, 80, 60]);
    const cases: [string, number[], number[]][] = [
      ['make it square', [240, 240], [100, 80, 60, 255]],
      ['resize to 400x100', [400, 100], [100, 80, 60, 255]],
      ['brighten by 50%', [320, 240], [150, 120, 90, 255]],
      ['darken by half', [320, 240], [50, 40, 30, 255]],
      ['invert', [320, 240], [155, 175, 195, 255]],
      ['black and white', [320, 240], [83, 83, 83, 255]],
      ['rotate left', [240, 320], [100, 80, 60, 255]],
      ['50% opacity', [320, 240], [100, 80, 60, 128]],
      ['invert, then brighten by 100%', [320, 240], [255, 255, 255, 255]],
      ['brighten by 100%, then invert', [320, 240], [55, 95, 135, 255]],
      ['add a 10px red border, then crop to 1:1', [260, 260], [100, 80, 60, 255]],
    ];
    for (const [prompt, size, middle] of cases) {
      const result = await edited(prompt, [base]);
      expect([prompt, result.size]).toEqual([prompt, size]);
      const found = result.at((size[0] ?? 0) >> 1, (size[1] ?? 0) >> 1);
      expect(
        Math.max(...found.map((part, index) => Math.abs(part - (middle[index] ?? 0)))),
        `${prompt} ${found}`,
      ).toBeLessThan(3);
    }
  });

  it('flip, crop and rotate in the right direction', async () => {
    const base = await picture('halves.png', [0, 0, 255], [255, 0, 0]);
    expect((await edited('mirror it', [base])).at(10, 10)).toEqual([0, 0, 255, 255]);
    expect((await edited('crop the left half', [base])).at(150, 100)).toEqual([255, 0, 0, 255]);
    expect((await edited('rotate left', [base])).at(100, 10)).toEqual([0, 0, 255, 255]);
    expect((await edited('rotate 45 degrees', [base])).at(0, 0)[3]).toBe(0);
  });

  it('draw layers over the base and apply masks', async () => {
    const base = await picture('under.png', [0, 0, 0]);
    const layer = await picture('layer.png', [255, 255, 255]);
    const mask = await picture('mask.png', [0, 0, 0], [255, 255, 255]);
    const over = await edited('put the second image over the first at the bottom right at 50% width', [base, layer]);
    expect([over.at(0, 0)[0], over.at(319, 239)[0], over.at(150, 239)[0]]).toEqual([0, 255, 0]);
    const faded = await edited('put the second image over the first at 50% opacity', [base, layer]);
    expect(faded.at(100, 100)[0]).toBeCloseTo(128, -1);
    const masked = await edited('use the second image as a mask and invert', [base, mask]);
    expect([masked.at(10, 10)[0], masked.at(310, 10)[0]]).toEqual([255, 0]);
    const cut = await edited('use the second image as a mask', [base, mask]);
    expect([cut.at(10, 10)[3], cut.at(310, 10)[3]]).toEqual([255, 0]);
  });

  it('draw text literally, without any markup', async () => {
    const base = await picture('paper.png', [0, 0, 0]);
    const plain = await edited('write "<b>&amp; Grüße</b>" in the middle', [base]);
    expect(plain.at(0, 0)).toEqual([0, 0, 0, 255]);
    const white = await sharp(plain.bytes).greyscale().threshold(200).stats();
    expect(white.channels[0]?.mean).toBeGreaterThan(1);
    const long = await edited(`write "${'long words '.repeat(25)}" at the top in large letters`, [base]);
    expect(long.size).toEqual([320, 240]);
    expect(() =>
      local.checkEdit?.({ ...asked, prompt: 'write "漢字"', images: [base] } as unknown as ImageEdit),
    ).toThrow('font');
  });

  it('use the ratio, resolution and format of the request', async () => {
    const base = await picture('small.png', [10, 20, 30]);
    expect((await edited('brighten', [base], { aspectRatio: '1:1', resolution: '2K' })).size).toEqual([2048, 2048]);
    expect((await edited('brighten', [base], { resolution: '1K' })).size).toEqual([320, 240]);
    expect((await edited('brighten', [base], { aspectRatio: '1:1', isRatioInferred: true })).size).toEqual([320, 240]);
    const jpeg = await edited('50% opacity', [base], { format: 'jpeg' });
    expect(jpeg.made?.contentType).toBe('image/jpeg');
    expect((await sharp(jpeg.bytes).metadata()).exif).toBeUndefined();
  });

  it('enlarge by the ordered factor', async () => {
    const image = await picture('tiny.png', [10, 20, 30], [200, 100, 0]);
    const made = await local.enlarge?.({ ...asked, image, scale: 4, creativity: 0 }, context);
    expect(await sharp(made?.path).metadata()).toMatchObject({ format: 'png', width: 1280, height: 960 });
  });
});

describe('local cut-outs', () => {
  const cutOut = (path: string) => {
    const image = { path, contentType: 'image/png', width: 512, height: 512 };
    return local.cutOut?.({ ...asked, image }, context);
  };

  it('are PNGs with alpha in the work folder', async () => {
    const made = await cutOut('test/fixtures/cutout/astronaut.png');
    expect(made).toEqual({ path: join(workFolder, 'cutout.png'), contentType: 'image/png' });
    expect((await sharp(made?.path).metadata()).hasAlpha).toBe(true);
  });

  it('refuse an image without a subject with a message for the client', async () => {
    const { path } = await picture('plain.png', [136, 136, 136]);
    await expect(cutOut(path)).rejects.toMatchObject({
      reason: 'refused',
      words: expect.stringContaining('No subject was found'),
    });
  });
});

describe('the test card', () => {
  const order: ImageOrder = {
    ...asked,
    ...{ prompt: 'a fox', count: 2, seed: 7, format: 'png', safeMode: false, styleReferences: [] },
    ...{ hidesWatermark: false, searchesWeb: false, skipsThinking: false },
  };

  it('is the same for the same order, and differs for another prompt or seed', async () => {
    const draw = async (more: Partial<ImageOrder>) => {
      const made = (await cards.makeImages?.({ ...order, width: 256, height: 128, ...more }, context)) ?? [];
      return made.map(({ path }) => readFileSync(path).toString('base64'));
    };
    const first = await draw({});
    expect(first).toHaveLength(2);
    expect(first[0]).not.toBe(first[1]);
    expect(await draw({})).toEqual(first);
    expect((await draw({ prompt: 'a dog' }))[0]).not.toBe(first[0]);
    expect((await draw({ seed: 8, count: 1 }))[0]).toBe(first[1]);
  });

  it('has the ordered size, or the ordered ratio and resolution', async () => {
    expect(cardSize({ width: 333, height: 100 })).toEqual({ width: 333, height: 100 });
    expect(cardSize({})).toEqual({ width: 1024, height: 1024 });
    expect(cardSize({ aspectRatio: '16:9', resolution: '2K' })).toEqual({ width: 2048, height: 1152 });
    expect(cardSize({ aspectRatio: '9:16', resolution: '4K' })).toEqual({ width: 2304, height: 4096 });
    const [made] =
      (await cards.makeImages?.({ ...order, count: 1, width: 1, height: 1, format: 'webp' }, context)) ?? [];
    expect(await sharp(made?.path).metadata()).toMatchObject({ format: 'webp', width: 1, height: 1 });
  });
});
