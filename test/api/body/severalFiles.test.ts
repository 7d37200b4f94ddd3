/** Bodies with several files: in order, limited each and in total, and never all in memory. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fileText, SpooledText } from '../../../api/body/spooledText.ts';
import { json } from '../../../api/http/answer.ts';
import { defineRoute } from '../../../api/http/route.ts';
import { MAX_TURN_MS, measureStall, type Stall } from '../../harness/stall.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { sendFromOutside } from './sendFromOutside.ts';

const MEGABYTE = 1_048_576;

const spooling = defineRoute({
  method: 'POST',
  path: '/test/pictures',
  access: 'open',
  body: {
    json: {
      schema: z.strictObject({ images: z.array(fileText) }),
      maxBytes: 128 * MEGABYTE,
      spools: { maxFileBytes: 25 * MEGABYTE },
    },
    multipart: {
      fields: z.strictObject({}).transform(() => ({ images: [] })),
      maxFileBytes: 25 * MEGABYTE,
      files: { name: 'images', most: 3, maxTotalBytes: 30 * MEGABYTE },
    },
  },
  async handler(_dependencies, { body, files }) {
    const spooled = body.images.map((image) => (image instanceof SpooledText ? image.file : undefined));
    return json({ sizes: [...files, ...spooled].map((file) => file?.sizeBytes) });
  },
});

let api: TestApi;
let stall: Stall;
let temporary: string;

beforeAll(async () => {
  api = await startApi({ routes: [spooling] });
  temporary = join(api.opened.dependencies.core.config.dataFolder, 'tmp');
  stall = measureStall();
});
afterAll(() => {
  stall.stop();
  return api.stop();
});

const leftovers = () => (existsSync(temporary) ? readdirSync(temporary) : []);

describe('several files', () => {
  const sizes = async (files: number[], name = 'images') => {
    const form = new FormData();
    for (const size of files) form.append(name, new Blob([Buffer.alloc(size, 7)]), 'x');
    const response = await api.call('/test/pictures', { method: 'POST', body: form });
    return { status: response.status, body: (await response.json()) as { error?: string; sizes?: number[] } };
  };

  it('arrive in order, whether large or small', async () => {
    expect(await sizes([5, 3 * MEGABYTE, 7])).toEqual({ status: 200, body: { sizes: [5, 3 * MEGABYTE, 7] } });
    expect(leftovers()).toEqual([]);
  });

  it.each([
    ['one too many', [1, 1, 1, 1], 'images', 400, 'Invalid multipart request: more than 3 files.'],
    [
      'one under another name',
      [1],
      'file',
      400,
      'Invalid multipart request: a file may only be sent in the field "images".',
    ],
    ['one that is too large', [1, 25 * MEGABYTE + 1], 'images', 413, 'File exceeds the maximum allowed size of 25 MB.'],
    [
      'too much together',
      [16 * MEGABYTE, 16 * MEGABYTE],
      'images',
      413,
      'Request body exceeds the maximum allowed size.',
    ],
  ])('%s', async (_name, files, name, status, error) => {
    const answer = await sizes(files, name);
    expect([answer.status, answer.body.error]).toEqual([status, error]);
    expect(leftovers()).toEqual([]);
  });

  it('block no other request and stay within memory limits, for twenty bodies of 25 MB in base64', async () => {
    const picture = Buffer.alloc(25 * MEGABYTE - 1, 7).toString('base64');
    const body = Buffer.from(`{"images":["data:image/png;base64,${picture}"]}`);
    const once = { url: `${api.baseUrl}/test/pictures`, type: 'application/json', body };
    await sendFromOutside(once);
    const before = process.memoryUsage().rss;
    let most = before;
    const timer = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss);
    }, 10);
    stall.reset();
    const statuses = await sendFromOutside({ ...once, times: 20 });
    clearInterval(timer);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(stall.longestMs()).toBeLessThan(MAX_TURN_MS);
    expect((most - before) / MEGABYTE).toBeLessThan(150);
    expect(leftovers()).toEqual([]);
  });
});
