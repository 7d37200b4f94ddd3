import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { shippedChild } from '../../../engines/child/keptChild.ts';
import { originals } from '../../fixtures/badImages/originals.ts';
import { bitPng } from '../../fixtures/badImages/parts.ts';
import { until } from '../../harness/until.ts';
import { isLong } from '../media/recordings.ts';
import { MAX_PIXELS, openImageWork } from './opened.ts';

/** Takes a second or two. */
const HEAVY = bitPng(7_680, 4_320);
const { work, put } = openImageWork();

describe('an image task', () => {
  it('ends with its child when it takes too long or crashes, and the next image gets a new child', async () => {
    const childPath = fileURLToPath(new URL('../../fixtures/stubbornImageChild.mjs', import.meta.url));
    const { work: hasty } = openImageWork({ childPath, timeoutMs: 3_000 });
    for (const path of ['/hang', '/die']) {
      const file = { path, target: path, maxPixels: 1 };
      await expect(hasty.run('makePlain', file, { field: 'image' })).rejects.toMatchObject({
        code: 'invalid_media',
        message: 'image could not be processed within the limits on time and memory.',
        fields: { image: [expect.any(String)] },
      });
      const finished = hasty.run('finish', { ...file, format: 'png' });
      await expect(finished).rejects.toMatchObject({ name: 'UpstreamFailure', reason: 'garbage' });
      expect(await hasty.run('makePlain', { ...file, path: '/fine' })).toMatchObject({ path: '/fine' });
    }
  });

  it('stops the decoder when it ends', async () => {
    const { work: hasty } = openImageWork({ timeoutMs: 250 });
    const { png } = await originals();
    const endless = hasty.run('finish', { ...put(HEAVY), format: 'webp' });
    await expect(endless).rejects.toMatchObject({ reason: 'garbage' });
    // The next task has its own child, and may need a second try on a busy machine.
    const next = () => hasty.run('makePlain', put(png)).then((made) => made.contentType, String);
    await expect.poll(next).toBe('image/png');
  });

  it('ends at once when its caller aborts', async () => {
    const leaving = new AbortController();
    const left = work.run('finish', { ...put(HEAVY), format: 'webp' }, { signal: leaving.signal });
    await sleep(100);
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
  });

  it('yields a retry delay when too many tasks wait, or one waited too long', async () => {
    const busy = { code: 'unavailable', retryAfterSeconds: expect.any(Number) };
    const { work: crowded } = openImageWork({ maxWaiting: 1, maxWaitMs: 200 });
    const leaving = new AbortController();
    const first = crowded.run('finish', { ...put(HEAVY), format: 'webp' }, { signal: leaving.signal });
    const late = crowded.run('makePlain', put(HEAVY));
    await expect(crowded.run('makePlain', put(HEAVY))).rejects.toMatchObject(busy);
    await expect(late).rejects.toMatchObject(busy);
    leaving.abort();
    await expect(first).rejects.toThrow();
  });

  it('has enough memory for the largest image, rotated and encoded', async () => {
    const create = { width: 7_680, height: 4_320, channels: 3 as const, background: '#b07040' };
    const largest = sharp({ create }).withMetadata({ orientation: 6 });
    const others = [
      largest.clone().jpeg({ progressive: true }),
      largest.clone().webp({ effort: 0 }),
      largest.clone().ensureAlpha(0.5).png({ compressionLevel: 1, progressive: true }),
    ];
    // AVIF needs the most.
    for (const picture of [largest.clone().avif({ effort: 0 }), ...(isLong() ? others : [])]) {
      const input = put(await picture.toBuffer());
      expect(await work.run('finish', { ...input, format: 'jpeg' })).toMatchObject({
        width: 4_320,
        height: 7_680,
      });
      if (isLong()) expect(await work.run('makePlain', input)).toMatchObject({ width: 4_320, height: 7_680 });
    }
  });

  it('reports a failure of the disk as an internal error, not as an invalid image', async () => {
    const { path } = put(bitPng(300, 300));
    const nowhere = { path, target: '/nowhere/at/all', maxPixels: MAX_PIXELS };
    await expect(work.run('makePlain', nowhere)).rejects.toThrow('the image task makePlain broke: Error: ENOENT');
  });

  it('ends with its parent process, also while a thread decodes', async () => {
    const module = pathToFileURL(shippedChild('engines/images/imageWork')).href;
    const input = JSON.stringify({ ...put(HEAVY), format: 'webp' });
    const asking = `const { createImageWork } = await import('${module}');
      const work = createImageWork({ maxChildren: 1 });
      setTimeout(() => process.stdout.write('asked'), 300);
      await work.run('finish', ${input});`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', asking], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(parent.stdout, 'data');
    const pids = readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, 'utf8').trim().split(' ');
    expect(pids.filter(Boolean)).toHaveLength(1);
    parent.kill('SIGKILL');
    await until('the child has ended', () => pids.every(hasEnded));
  });
});

/** True for a zombie too. */
function hasEnded(pid: string): boolean {
  const status = `/proc/${pid}/status`;
  return !existsSync(status) || /^State:\s+[ZX]/m.test(readFileSync(status, 'latin1'));
}
