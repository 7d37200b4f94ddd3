/** Clients that leave before their picture, and pictures without a free slot: the answers and charges. */
import { readdirSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { LOCAL_CUTOUT, OFFLINE_IMAGES } from '../../../domain/catalogue/builtin/offlineImages.ts';
import { createImageWork, type ImageWork } from '../../../engines/images/imageWork.ts';
import { createLocalImages } from '../../../providers/local/images/localImages.ts';
import type { MediaProvider } from '../../../providers/shared/mediaProvider.ts';
import { until } from '../../harness/until.ts';
import { CARD, type ImageWorld, openImageWorld, withStub } from './world.ts';

const image = CARD.toString('base64');
const silentChild = fileURLToPath(new URL('../../fixtures/silentChild.mjs', import.meta.url));
/** One worker, one place in the queue, and a short wait. */
const NARROW = { childPath: silentChild, maxChildren: 1, maxWaiting: 1, maxWaitMs: 400, timeoutMs: 30_000 };

let world: ImageWorld;
let plain: ImageWork;

beforeAll(async () => {
  world = await openImageWorld(withStub([...OFFLINE_IMAGES, LOCAL_CUTOUT]));
  const { dependencies } = world.api.opened;
  plain = dependencies.providers.images;
  // With these slots one account fills the queue of the process before its own.
  const limits = dependencies.limits.calls;
  const { overrideOf } = limits;
  limits.overrideOf = (accountId) => ({ ...overrideOf(accountId), slots: 100 });
  world.api.opened.dependencies.providers.mediaProviders = studioOnly();
});
afterAll(() => world.api.stop());
afterEach(() => {
  Object.assign(world.api.opened.dependencies.providers, {
    images: plain,
    mediaProviders: studioOnly(),
  });
  world.imageProvider.readsAll = true;
});

function studioOnly(): Map<string, MediaProvider> {
  return new Map(['local', 'simulator'].map((entry) => [entry, world.imageProvider]));
}

const folders = () => readdirSync(join(world.api.opened.dependencies.core.config.dataFolder, 'tmp'));

const ROUTES: [path: string, body: object, sku: string][] = [
  ['/image/edit', { model: 'local-edit', prompt: 'blur', image }, 'local-edit-image-unit 2000000'],
  ['/image/multi-edit', { modelId: 'local-edit', prompt: 'blur', images: [image] }, 'local-edit-image-unit 2000000'],
  ['/image/background-remove', { model: 'local-cutout', image }, 'local-cutout-image-unit 2000000'],
  ['/image/upscale', { model: 'local-upscale-image', image }, 'local-upscale-image-image-unit 2000000'],
  ['/image/generate', { model: 'simulator-image', prompt: 'a boat' }, 'simulator-image-image-unit 100000'],
  [
    '/image/generate',
    { model: 'simulator-image', prompt: 'a boat', return_binary: true },
    'simulator-image-image-unit 100000',
  ],
  ['/images/generations', { model: 'simulator-image', prompt: 'a boat' }, 'simulator-image-image-unit 100000'],
];

/** Sends a request whose client leaves with the first bytes, or when `leave` is called. */
function visit(path: string, body: object): { leave(): void; left: Promise<'before' | 'after'> } {
  const headers = { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' };
  const request = http.request(`${world.api.baseUrl}${path}`, { method: 'POST', headers, agent: false });
  const left = new Promise<'before' | 'after'>((resolve) => {
    request.on('error', () => resolve('before'));
    request.on('response', (response) => {
      response.once('data', () => {
        response.destroy();
        resolve('after');
      });
    });
  });
  request.end(JSON.stringify(body));
  return { leave: () => request.destroy(), left };
}

describe.each(ROUTES)('a client of %s that disconnects', (path, body, sku) => {
  it('before the first byte pays nothing, although the picture was made', async () => {
    const before = await world.spent();
    let begun = false;
    let finish: () => void = () => undefined;
    world.imageProvider.next = () =>
      new Promise((resolve) => {
        begun = true;
        finish = resolve;
      });
    const visitor = visit(path, body);
    await until('it is made', () => begun);
    expect(await world.held()).toBe(1);
    visitor.leave();
    expect(await visitor.left).toBe('before');
    finish();
    await expect.poll(() => world.held()).toBe(0);
    expect(await world.spent()).toEqual(before);
    await expect.poll(folders).toEqual([]);
  });

  it('after the first byte pays once', async () => {
    const before = await world.spent();
    world.imageProvider.result = Buffer.concat([CARD, Buffer.alloc(24_000_000)]);
    const visitor = visit(path, body);
    expect(await visitor.left).toBe('after');
    world.imageProvider.result = undefined;
    await expect.poll(() => world.held()).toBe(0);
    expect(await world.spent()).toEqual([...before, sku]);
    await expect.poll(folders).toEqual([]);
  });
});

describe('an overload of picture work', () => {
  type Queue = [name: string, path: string, body: object, open: () => MediaProvider & { close?(): Promise<void> }];
  const narrowWork = () => createImageWork(NARROW);
  const queues: Queue[] = [
    ['the edits of this machine', ...order(0), () => createLocalImages(narrowWork())],
    ['its cut-outs', ...order(2), () => createLocalImages(narrowWork())],
    ['its enlargements', ...order(3), () => createLocalImages(narrowWork())],
    [
      'what is made plain for a service',
      ...order(0),
      () => {
        world.imageProvider.readsAll = false;
        world.api.opened.dependencies.providers.images = narrowWork();
        return world.imageProvider;
      },
    ],
  ];

  function order(route: number): [path: string, body: object] {
    const [path = '', body = {}] = ROUTES[route] ?? [];
    return [path, body];
  }

  it.each(queues)(
    '%s: refuses requests beyond the queue or its time with Retry-After, without a charge',
    async (_name, path, body, open) => {
      world.api.opened.dependencies.providers.mediaProviders = new Map([['local', open()]]);
      const before = await world.spent();
      const first = visit(path, body);
      await until('the first is at work', async () => (await world.held()) === 1);
      const others = await Promise.all([world.post(path, body), world.post(path, body)]);
      for (const reply of others) {
        const told = (await reply.json()) as { error: string };
        expect([reply.status, told.error]).toEqual([
          503,
          expect.stringMatching(/^Too many (images|pictures) .*try again/),
        ]);
        expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      }
      // The first request's child process never answers, and ends with its client.
      first.leave();
      expect(await first.left).toBe('before');
      await expect.poll(() => world.held()).toBe(0);
      expect(await world.spent()).toEqual(before);
      await expect.poll(folders).toEqual([]);
    },
  );
});
