import { describe, expect, it } from 'vitest';
import { lookAtImage } from '../../../engines/images/lookAtImage.ts';
import { badImages } from '../../fixtures/badImages.ts';
import { MAX_TURN_MS, measureStall } from '../../harness/stall.ts';
import { MAX_PIXELS, openImageWork } from './opened.ts';

// A test takes seconds, and longer on a busy machine.
const { work, put } = openImageWork();
const BOUNDS = { field: 'images[3]', minPixels: 65_536, maxPixels: MAX_PIXELS, maxBytes: 25 * 1024 * 1024 };
const MAX_GROWTH_BYTES = 100 * 1024 * 1024;

describe('hostile and odd images', async () => {
  const images = (await badImages()).map((image) => ({ ...image, ...put(image.file) }));

  it('are more than two hundred', () => {
    expect(new Set(images.map(({ name }) => name)).size).toBe(images.length);
    expect(images.length).toBeGreaterThan(200);
  });

  it('are refused with a sentence that names the field, or accepted, without harm to this process', async () => {
    await unharmed(async () => {
      for (const { name, look, path } of images) {
        const said = await lookAtImage({ ...BOUNDS, path }).then(
          () => 'good',
          (error: Error) => error.message,
        );
        if (look === undefined) expect(said, name).toBe('good');
        else expect(said, name).toMatch(/^images\[3\] (is|has) [^.]+\.$/);
        expect(said, name).toContain(look ?? 'good');
      }
    });
  });

  it('are made plain or refused as undecodable, without harm to this process', async () => {
    await unharmed(async () => {
      for (const { name, decodes, path, target, maxPixels } of images) {
        const said = await work.run('makePlain', { path, target, maxPixels }).then(
          () => 'decoded',
          (error: Error & { code?: string }) => error.code,
        );
        expect(said, name).toBe(decodes ? 'decoded' : 'invalid_media');
      }
    });
  });

  it('are reported as a failure of the service that returned them', async () => {
    for (const { name, decodes, look, ...file } of images.filter((image) => !image.decodes)) {
      const finished = work.run('finish', { ...file, format: 'png' });
      await expect(finished, name).rejects.toMatchObject({ name: 'UpstreamFailure', reason: 'garbage' });
    }
  });
});

async function unharmed(work: () => Promise<void>): Promise<void> {
  const before = process.memoryUsage.rss();
  const stall = measureStall();
  try {
    await work();
    expect(stall.longestMs()).toBeLessThan(MAX_TURN_MS);
  } finally {
    stall.stop();
  }
  expect(process.memoryUsage.rss() - before).toBeLessThan(MAX_GROWTH_BYTES);
}
