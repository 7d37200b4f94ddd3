import { readFileSync } from 'node:fs';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { IMAGE_FORMATS } from '../../../domain/images/images.ts';
import type { ImageTaskInput } from '../../../engines/images/imageTasks.ts';
import { originals } from '../../fixtures/badImages/originals.ts';
import { gif, inserted, pngChunk } from '../media/pictureFiles.ts';
import { openImageWork } from './opened.ts';

const { work, put } = openImageWork();
const SIZE = { width: 300, height: 200 };
const red = () => sharp({ create: { ...SIZE, channels: 4, background: { r: 200, g: 0, b: 0, alpha: 0 } } });

async function finished(bytes: Buffer, asked: Pick<ImageTaskInput<'finish'>, 'format' | 'note'>) {
  const input = put(bytes);
  const made = await work.run('finish', { ...input, ...asked });
  const file = readFileSync(made.path);
  expect(made.bytes).toBe(file.length);
  return { ...made, file, isSame: made.path === input.path, head: await sharp(file).metadata() };
}

describe('an image from a service', () => {
  it('is converted to the ordered format, whatever the service chose', async () => {
    for (const [kind, bytes] of Object.entries(await originals())) {
      for (const format of IMAGE_FORMATS) {
        const { contentType, head, isSame } = await finished(bytes, { format });
        expect([contentType, head.format], kind).toEqual([`image/${format}`, format]);
        expect(isSame, `${kind} to ${format}`).toBe(kind === format);
      }
    }
  });

  it('becomes white for transparent pixels as a JPEG, and stays transparent as PNG and WebP', async () => {
    const png = await red().png().toBuffer();
    const { data } = await sharp((await finished(png, { format: 'jpeg' })).file)
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect(data[0]).toBeGreaterThan(250);
    expect(data[1]).toBeGreaterThan(250);
    expect((await finished(png, { format: 'webp' })).head.hasAlpha).toBe(true);
    expect((await finished(png, { format: 'png' })).head.hasAlpha).toBe(true);
  });

  it('loses the metadata of the service, and any bytes after its end', async () => {
    const { png } = await originals();
    const signed = inserted(png, 33, pngChunk('caBX', Buffer.from('signed by the service')));
    for (const bytes of [signed, Buffer.concat([png, Buffer.from('<html>')])]) {
      const { file, isSame } = await finished(bytes, { format: 'png' });
      expect(isSame).toBe(false);
      expect(file.equals(png)).toBe(true);
    }
  });

  it('carries the ordered note as Exif data, in every format', async () => {
    const note = { software: 'Farebox', description: 'a red fox, "quick" und schnell' };
    const { png } = await originals();
    for (const format of IMAGE_FORMATS) {
      const { head } = await finished(png, { format, note });
      expect(head.exif?.includes('Farebox'), format).toBe(true);
      expect(head.exif?.includes(note.description), format).toBe(true);
      expect(head.orientation ?? 1).toBe(1);
    }
  });

  it('is rotated upright as displayed', async () => {
    const turned = await red().withMetadata({ orientation: 6 }).png().toBuffer();
    const { width, height, head } = await finished(turned, { format: 'png' });
    expect([width, height]).toEqual([SIZE.height, SIZE.width]);
    expect(head.orientation).toBeUndefined();
  });

  it('is refused when it is animated, cut, too large or something else', async () => {
    const { png } = await originals();
    const bad = [gif(SIZE, 3), png.subarray(0, 3_000), Buffer.from('<svg width="9" height="9"/>'), Buffer.from('{}')];
    for (const bytes of bad) {
      const failure = finished(bytes, { format: 'png' });
      await expect(failure).rejects.toMatchObject({ name: 'UpstreamFailure', reason: 'garbage' });
    }
    const small = work.run('finish', { ...put(png), format: 'webp', maxPixels: 100 });
    await expect(small).rejects.toMatchObject({ reason: 'garbage' });
  });
});
