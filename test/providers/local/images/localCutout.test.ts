import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLocalCutout } from '../../../../providers/local/images/localCutout.ts';
import type { MediaCallContext } from '../../../../providers/shared/mediaProvider.ts';

describe('local-cutout', () => {
  const cutter = createLocalCutout({ maxChildren: 1 });
  let workFolder = '';
  beforeAll(async () => {
    workFolder = await mkdtemp(join(tmpdir(), 'farebox-local-cutout-'));
  });
  afterAll(async () => {
    await cutter.close();
    await rm(workFolder, { recursive: true });
  });

  function cutOut(path: string) {
    const image = { path, contentType: 'image/png', width: 512, height: 512 };
    const context: MediaCallContext = { workFolder, signal: AbortSignal.timeout(60_000) };
    return cutter.cutOut({ image, upstreamModel: 'grabcut', endUser: 'somebody' }, context);
  }

  test('makes a PNG with alpha in the work folder', async () => {
    const made = await cutOut('test/fixtures/cutout/astronaut.png');
    expect(made).toEqual({ path: join(workFolder, 'cutout.png'), contentType: 'image/png' });
    expect((await sharp(made.path).metadata()).hasAlpha).toBe(true);
  });

  test('refuses a picture without a subject in words for the client', async () => {
    const path = join(workFolder, 'plain.png');
    await sharp({ create: { width: 300, height: 300, channels: 3, background: '#888' } }).toFile(path);
    await expect(cutOut(path)).rejects.toMatchObject({
      reason: 'refused',
      words: expect.stringContaining('No subject was found'),
    });
  });
});
