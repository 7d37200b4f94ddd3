/** Edits from the request to the file: order to the provider, answer and charge. */
import { readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FareboxError } from '../../../domain/errors.ts';
import { UpstreamFailure, type UpstreamFailureReason } from '../../../domain/upstreamFailure.ts';
import { TIERED_EDIT } from './tieredEdit.ts';
import { CARD, damagedPng, type ImageWorld, openImageWorld, png, withStub } from './world.ts';

let world: ImageWorld;
let web: Server;
let site: string;

beforeAll(async () => {
  web = createServer((request, response) => {
    if (request.url === '/missing') return void response.writeHead(404).end();
    response.setHeader('content-type', 'image/png');
    response.end(CARD);
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(web.address() as AddressInfo).port}`;
  site = `http://${host}`;
  world = await openImageWorld(withStub([TIERED_EDIT], [host]));
});
afterAll(async () => {
  await world.api.stop();
  web.close();
});

const base64 = CARD.toString('base64');
const folders = () => readdirSync(join(world.api.opened.dependencies.core.config.dataFolder, 'tmp'));

async function charged(work: () => Promise<Response>) {
  const before = await world.spent();
  const response = await work();
  const bytes = Buffer.from(await response.arrayBuffer());
  return { response, bytes, entries: (await world.spent()).slice(before.length) };
}

describe('POST /image/multi-edit', () => {
  it('accepts base64, data URLs and addresses, and charges the edit and each further image', async () => {
    const images = [base64, `data:image/png;base64,${base64}`, `${site}/card.png`];
    const { response, bytes, entries } = await charged(() =>
      world.post('/image/multi-edit', { modelId: 'tiered-edit', prompt: 'warmer', images }),
    );
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(bytes.equals(CARD)).toBe(true);
    expect(entries).toEqual(['tiered-edit-image-unit 120000000']);
    const told = ['model-id', 'model-name', 'is-blurred', 'is-content-violation'];
    expect(told.map((name) => response.headers.get(`x-service-${name}`))).toEqual([
      ...['tiered-edit', 'Tiered', 'false', 'false'],
    ]);
    expect(world.imageProvider.edits.at(-1)).toMatchObject({
      ...{ upstreamModel: 'tiered', prompt: 'warmer', aspectRatio: '4:3', resolution: '1K', format: 'png' },
      safeMode: false,
    });
    expect(world.imageProvider.edits.at(-1)?.images.map(({ width, height }) => [width, height])).toEqual([
      ...[
        [320, 240],
        [320, 240],
        [320, 240],
      ],
    ]);
    expect(folders()).toEqual([]);
  });

  it('accepts files, and uses the published default model', async () => {
    const form = new FormData();
    form.set('prompt', 'cooler');
    form.set('safe_mode', 'false');
    form.append('images', new Blob([CARD]), 'a.png');
    form.append('images', new Blob([png(300, 300)]), 'b.png');
    const { response, entries } = await charged(() => world.send('/image/multi-edit', form));
    expect([response.status, response.headers.get('x-service-model-id')]).toEqual([200, 'firered-image-edit']);
    expect(entries).toEqual(['firered-image-edit-image-unit 40000000']);
  });

  it('charges a larger tier at its price and answers as JPEG, unless a format is named', async () => {
    const order = { modelId: 'tiered-edit', prompt: 'x', images: [base64], resolution: '2K' };
    const { entries } = await charged(() => world.post('/image/multi-edit', order));
    expect([entries, world.imageProvider.edits.at(-1)?.format]).toEqual([['tiered-edit-image-unit 200000000'], 'jpeg']);
    await charged(() => world.post('/image/multi-edit', { ...order, output_format: 'jpg' }));
    expect(world.imageProvider.edits.at(-1)?.format).toBe('jpeg');
    await charged(() => world.post('/image/multi-edit', { ...order, output_format: 'webp' }));
    expect(world.imageProvider.edits.at(-1)?.format).toBe('webp');
  });

  it('makes and charges nothing in a dry run', async () => {
    const edits = world.imageProvider.edits.length;
    const order = { modelId: 'tiered-edit', prompt: 'x', images: [base64, base64] };
    const { bytes, entries } = await charged(() =>
      world.post('/image/multi-edit', order, { 'x-service-dry-run': 'true' }),
    );
    expect(JSON.parse(bytes.toString())).toEqual({ object: 'dry_run', cost: { usd: 0.11, diem: 0.11 } });
    expect([entries, world.imageProvider.edits.length]).toEqual([[], edits]);
  });

  const order = { modelId: 'tiered-edit', prompt: 'x', images: [base64] };
  it.each([
    ['a model field', { ...order, model: 'tiered-edit' }, 400, undefined],
    ['no images', { ...order, images: [] }, 400, 'images'],
    ['eleven images', { ...order, images: Array(11).fill(base64) }, 400, 'images'],
    ['more images than the model takes', { ...order, images: Array(6).fill(base64) }, 400, 'images'],
    ['more images than a model takes that does not say', { prompt: 'x', images: Array(4).fill(base64) }, 400, 'images'],
    ['no prompt', { ...order, prompt: '' }, 400, 'prompt'],
    ['a prompt that is too long for the model', { ...order, prompt: 'x'.repeat(101) }, 400, 'prompt'],
    ['a ratio that the model lacks', { ...order, aspect_ratio: '21:9' }, 400, 'aspect_ratio'],
    ['a resolution that the model lacks', { ...order, resolution: '4K' }, 400, 'resolution'],
    ['another quality', { ...order, quality: 'ultra' }, 400, 'quality'],
    ['a safe mode that nobody can keep', { ...order, safe_mode: true }, 400, 'safe_mode'],
    ['a rewriting that nobody can do', { ...order, enhance_prompt: true }, 400, 'enhance_prompt'],
    ['an image model', { ...order, modelId: 'z-image-turbo' }, 400, 'modelId'],
    ['an unknown model', { ...order, modelId: 'nothing-edit' }, 404, undefined],
    ['what is no image', { ...order, images: [Buffer.from('hello').toString('base64')] }, 400, 'images[0]'],
    ['what is no base64', { ...order, images: ['!!!'] }, 400, 'images[0]'],
    ['a data URL of text', { ...order, images: ['data:text/plain,hello'] }, 400, 'images[0]'],
    ['one bad URL among five', { ...order, images: [base64, base64, 'URL/missing', base64, base64] }, 400, 'images[2]'],
    ['a private address', { ...order, images: ['http://10.0.0.1/x.png'] }, 400, 'images[0]'],
    ['a metadata address', { ...order, images: ['http://169.254.169.254/latest'] }, 400, 'images[0]'],
    ['a pixel row too few', { ...order, images: [png(256, 255).toString('base64')] }, 400, 'images[0]'],
  ])('refuses %s before any charge', async (_name, body, status, field) => {
    const images = body.images.map((image: string) => image.replace('URL', site));
    const { response, bytes, entries } = await charged(() => world.post('/image/multi-edit', { ...body, images }));
    const told = JSON.parse(bytes.toString()) as { error: string; details?: object };
    expect([response.status, entries, await world.held()]).toEqual([status, [], 0]);
    const [name = '', index] = (field ?? '').split(/[[\]]/);
    const found = field === undefined ? undefined : (told.details as Record<string, object>)?.[name];
    if (field !== undefined) expect(found).toHaveProperty(index === undefined ? ['_errors'] : [index, '_errors']);
    expect(told.error).not.toBe('');
    expect(folders()).toEqual([]);
  });

  it('accepts 65,536 pixels', async () => {
    const { response } = await charged(() =>
      world.post('/image/multi-edit', { ...order, images: [png(256, 256).toString('base64')] }),
    );
    expect(response.status).toBe(200);
  });
});

it('sends plain pictures to a remote service, and converts its result to the requested format', async () => {
  world.imageProvider.readsAll = false;
  const order = { modelId: 'tiered-edit', prompt: 'x', images: [base64], output_format: 'webp' };
  const { response, bytes, entries } = await charged(() => world.post('/image/multi-edit', order));
  world.imageProvider.result = Buffer.from('<html>no picture</html>');
  const bad = await charged(() => world.post('/image/multi-edit', order));
  world.imageProvider.readsAll = true;
  world.imageProvider.result = undefined;
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/webp']);
  expect(bytes.toString('latin1', 8, 12)).toBe('WEBP');
  expect(entries).toEqual(['tiered-edit-image-unit 100000000']);
  expect([bad.response.status, bad.entries, await world.held()]).toEqual([500, [], 0]);
  expect(folders()).toEqual([]);
});

describe('POST /image/edit', () => {
  it('edits one image, as JSON and as a form', async () => {
    const json = await charged(() => world.post('/image/edit', { model: 'tiered-edit', prompt: 'x', image: base64 }));
    const form = new FormData();
    form.set('prompt', 'x');
    form.set('image', new Blob([CARD]), 'a.png');
    const multipart = await charged(() => world.send('/image/edit', form));
    expect([json.response.status, multipart.response.status]).toEqual([200, 200]);
    expect([...json.entries, ...multipart.entries]).toEqual([
      ...['tiered-edit-image-unit 100000000', 'firered-image-edit-image-unit 40000000'],
    ]);
  });

  it.each([
    ['no image', { prompt: 'x' }],
    ['a quality', { prompt: 'x', image: base64, quality: 'low' }],
    ['a resolution of a model without any', { prompt: 'x', image: base64, resolution: '1K' }],
  ])('refuses %s', async (_name, body) => {
    const { response, entries } = await charged(() => world.post('/image/edit', body));
    expect([response.status, entries]).toEqual([400, []]);
  });
});

describe('failures, which cost nothing:', () => {
  const order = { modelId: 'tiered-edit', prompt: 'x', images: [base64] };
  const failures: [UpstreamFailureReason, number][] = [
    ['refused', 400],
    ['content_policy', 422],
    ['rate_limited', 429],
    ['overloaded', 429],
    ['credential', 503],
    ['no_model', 503],
    ['unreachable', 503],
    ['failed', 500],
    ['garbage', 500],
    ['lost', 500],
    ['timeout', 504],
  ];
  it.each(failures)('a provider that answers %s: %i', async (reason, status) => {
    world.imageProvider.next = () => {
      throw new UpstreamFailure({ reason, detail: 'as told' });
    };
    const { response, entries } = await charged(() => world.post('/image/multi-edit', order));
    expect([response.status, entries, await world.held()]).toEqual([status, [], 0]);
    expect(folders()).toEqual([]);
  });

  it.each([
    ['/image/multi-edit', { images: [damagedPng(320, 240).toString('base64')] }, 'images[0]'],
    ['/image/edit', { image: damagedPng(320, 240).toString('base64') }, 'image'],
  ])('%s of a picture that cannot be decoded, with the name of its field', async (path, sent, field) => {
    world.imageProvider.readsAll = false;
    const { response, bytes, entries } = await charged(() => world.post(path, { prompt: 'x', ...sent }));
    world.imageProvider.readsAll = true;
    expect([response.status, entries, await world.held()]).toEqual([400, [], 0]);
    expect(bytes.toString()).toContain(`${field} could not be decoded`);
  });

  it('an edit that the provider cannot make', async () => {
    world.imageProvider.refusal = new FareboxError({
      code: 'invalid_request',
      message: 'It can rotate and flip.',
    });
    const { response, entries } = await charged(() => world.post('/image/multi-edit', order));
    world.imageProvider.refusal = undefined;
    expect([response.status, entries]).toEqual([400, []]);
  });

  it('an account without credit, which is refused before any work', async () => {
    const { secret } = await world.api.newKey('INFERENCE');
    const edits = world.imageProvider.edits.length;
    const response = await world.api.call('/image/multi-edit', {
      ...{ method: 'POST', key: secret, body: JSON.stringify(order) },
      headers: { 'content-type': 'application/json' },
    });
    expect([response.status, world.imageProvider.edits.length]).toEqual([402, edits]);
  });
});
