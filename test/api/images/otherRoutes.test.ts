/** New, cut-out and enlarged pictures: order to the provider, answer and charge. */
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_CREATED, type ImageModel, type UpscaleModel } from '../../../domain/catalogue/model.ts';
import { IMAGE_STYLES } from '../../../domain/images/styles.ts';
import { CARD, type ImageWorld, openImageWorld, png, withStub } from './world.ts';

const price = (usd: number) => ({ usd, diem: usd });
const shared = {
  ...{
    provider: 'local',
    privacy: 'private' as const,
    description: '',
    modelSource: '',
    created: DEFAULT_CREATED,
  },
};
const TIERED: ImageModel = {
  ...{ ...shared, id: 'tiered-image', name: 'Tiered', upstreamModel: 'tiered', kind: 'image', type: 'image' },
  spec: {
    supportsStyleReferences: true,
    constraints: { maxStyleReferences: 2, steps: { default: 4, max: 10 }, widthHeightDivisor: 8 },
    pricing: {
      resolutions: { '1K': price(0.1), '2K': price(0.2) },
      quality: {
        '1K': { low: price(0.01), high: price(0.09) },
        '2K': { low: price(0.02), high: price(0.19) },
      },
    },
  },
};
const CUTTER: ImageModel = {
  ...{ ...shared, id: 'local-cutout', name: 'Cutter', upstreamModel: 'cut', kind: 'image', type: 'image' },
  ...{ imageUse: 'cutout', spec: { pricing: { generation: price(0.02) } } },
};
const UPSCALER: UpscaleModel = {
  ...{
    ...shared,
    id: 'local-upscale-image',
    name: 'Upscaler',
    upstreamModel: 'up',
    kind: 'upscale',
    type: 'upscale',
  },
  spec: { pricing: { upscale: { '2x': price(0.03), '4x': price(0.05) } } },
};

let world: ImageWorld;
beforeAll(async () => {
  const stubbed = withStub([TIERED, CUTTER, UPSCALER]);
  world = await openImageWorld((config) => {
    const all = stubbed(config);
    // The published models are unavailable, as on a machine without keys.
    for (const id of ['bria-bg-remover', 'upscaler', 'chroma']) {
      const model = all.modelCatalogue.byId.get(id);
      if (model) model.provider = 'nobody';
    }
    return all;
  });
});
afterAll(() => world.api.stop());

const base64 = CARD.toString('base64');

async function charged(work: () => Promise<Response>) {
  const before = await world.spent();
  const response = await work();
  const bytes = Buffer.from(await response.arrayBuffer());
  const body = () => JSON.parse(bytes.toString());
  return { response, bytes, body, entries: (await world.spent()).slice(before.length) };
}

describe('POST /image/generate', () => {
  const order = { model: 'tiered-image', prompt: 'a tram' };

  it('returns the ordered number of images, each charged at its tier', async () => {
    const { response, body, entries } = await charged(() =>
      world.post('/image/generate', { ...order, variants: 3, resolution: '2K', quality: 'low', seed: -7 }),
    );
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    const { id, images, request, timing } = body();
    expect([id, images]).toEqual([expect.stringMatching(/^image-[0-9a-f]{32}$/), [base64, base64, base64]]);
    expect(request).toMatchObject({ ...order, variants: 3, format: 'webp', style_references: [] });
    expect(Object.keys(timing)).toEqual([
      'inferenceDuration',
      'inferencePreprocessingTime',
      'inferenceQueueTime',
      'total',
    ]);
    expect(entries).toEqual(['tiered-image-image-unit 60000000']);
    expect(world.imageProvider.orders.at(-1)).toMatchObject({
      count: 3,
      resolution: '2K',
      quality: 'low',
      steps: 4,
      seed: -7,
    });
  });

  it('returns the bytes alone on request', async () => {
    const { response, bytes, entries } = await charged(() =>
      world.post('/image/generate', { ...order, return_binary: true, format: 'png' }),
    );
    expect([response.status, response.headers.get('content-type'), bytes.equals(CARD)]).toEqual([
      200,
      'image/png',
      true,
    ]);
    expect(entries).toEqual(['tiered-image-image-unit 90000000']);
  });

  it('passes on style references with their strength', async () => {
    const style_references = [{ image: base64, strength: 0.25 }, { image: base64 }];
    const { response, body } = await charged(() =>
      world.post('/image/generate', { ...order, style_references, style_preset: 'Film Noir' }),
    );
    expect(response.status).toBe(200);
    expect(body().request.style_references).toEqual([{ strength: 0.25 }, { strength: 0.5 }]);
    const asked = world.imageProvider.orders.at(-1);
    expect([asked?.style, asked?.styleReferences.map(({ strength }) => strength)]).toEqual(['Film Noir', [0.25, 0.5]]);
  });

  it.each([
    ['no model', { prompt: 'x' }, 400],
    ['an unknown model', { ...order, model: 'no-such-thing' }, 404],
    ['a cutter', { ...order, model: 'local-cutout' }, 400],
    ['a model whose provider is away', { ...order, model: 'chroma' }, 503],
    ['inpainting', { ...order, inpaint: {} }, 400],
    ['another style', { ...order, style_preset: 'No Style' }, 400],
    ['several as binary', { ...order, variants: 2, return_binary: true }, 400],
    ['five variants', { ...order, variants: 5 }, 400],
    ['too many steps', { ...order, steps: 11 }, 400],
    ['a width that the model cannot', { ...order, width: 1001 }, 400],
    ['a prompt of 7,501 letters', { ...order, prompt: 'x'.repeat(7_501) }, 400],
    ['three references', { ...order, style_references: Array(3).fill({ image: base64 }) }, 400],
    ['a safe mode that nobody can keep', { ...order, safe_mode: true }, 400],
    ['an unknown field', { ...order, colour: 'red' }, 400],
  ])('refuses %s before any charge', async (_name, body, status) => {
    const { response, entries } = await charged(() => world.post('/image/generate', body));
    expect([response.status, entries, await world.held()]).toEqual([status, [], 0]);
  });

  it('writes the order into the file on request', async () => {
    const body = { ...order, return_binary: true, format: 'png', embed_exif_metadata: true };
    const { response, bytes } = await charged(() => world.post('/image/generate', body));
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(bytes.toString('latin1')).toContain('a tram');
  });

  it('charges nothing when the provider makes fewer images than ordered', async () => {
    const { makeImages } = world.imageProvider;
    world.imageProvider.makeImages = async () => [];
    const { response, entries } = await charged(() => world.post('/image/generate', order));
    world.imageProvider.makeImages = makeImages;
    expect([response.status, entries, await world.held()]).toEqual([500, [], 0]);
  });
});

describe('POST /images/generations', () => {
  it("answers in the shape of OpenAI, also for OpenAI's model names", async () => {
    const { response, body, entries } = await charged(() =>
      world.post('/images/generations', {
        model: 'dall-e-3',
        prompt: 'a tram',
        size: '1792x1024',
        n: 1,
        quality: 'hd',
      }),
    );
    expect([response.status, response.headers.get('x-service-model-id')]).toEqual([200, 'z-image-turbo']);
    expect(body()).toEqual({ created: expect.any(Number), data: [{ b64_json: base64 }] });
    expect(entries).toEqual(['z-image-turbo-image-unit 10000000']);
    expect(world.imageProvider.orders.at(-1)).toMatchObject({
      width: 1792,
      height: 1024,
      count: 1,
      format: 'png',
    });
  });

  it('answers with a data URL on request', async () => {
    const { body } = await charged(() =>
      world.post('/images/generations', { prompt: 'a tram', response_format: 'url' }),
    );
    expect(body().data).toEqual([{ url: `data:image/png;base64,${base64}` }]);
  });

  it("serves OpenAI's own client unchanged", async () => {
    const client = new OpenAI({ apiKey: world.key, baseURL: world.api.baseUrl });
    const made = await client.images.generate({
      model: 'gpt-image-1',
      prompt: 'a tram',
      n: 1,
      size: '1024x1024',
    });
    expect(made.data?.[0]?.b64_json).toBe(base64);
  });

  it.each([
    ['the quality', { quality: 'low' }, { count: 1, quality: 'low', resolution: '1K' }, 10_000_000],
    ['a standard quality', { quality: 'standard' }, { count: 1, quality: 'low', resolution: '1K' }, 10_000_000],
    ['the best quality', { quality: 'hd' }, { count: 1, quality: 'high', resolution: '1K' }, 90_000_000],
    ['the default quality', { quality: 'auto' }, { count: 1, quality: 'high', resolution: '1K' }, 90_000_000],
    ['the number', { n: 3, quality: 'low' }, { count: 3, quality: 'low', resolution: '1K' }, 30_000_000],
    [
      'the size',
      { size: '1536x1024', quality: 'low' },
      { count: 1, width: 1536, height: 1024, resolution: '1K' },
      10_000_000,
    ],
  ])('orders and charges %s of the request', async (_name, fields, ordered, nano) => {
    const { response, body, entries } = await charged(() =>
      world.post('/images/generations', { model: 'tiered-image', prompt: 'a tram', ...fields }),
    );
    expect(response.status).toBe(200);
    expect(body().data).toHaveLength(ordered.count);
    expect(world.imageProvider.orders.at(-1)).toMatchObject(ordered);
    expect(entries).toEqual([`tiered-image-image-unit ${nano}`]);
  });

  it.each([
    ['no image', { n: 0 }],
    ['more than four images', { n: 5 }],
    ['an unknown quality', { quality: 'ultra' }],
    ['a quality that the model lacks', { quality: 'medium' }],
  ])('refuses %s without a charge', async (_name, fields) => {
    const { response, entries } = await charged(() =>
      world.post('/images/generations', { model: 'tiered-image', prompt: 'x', ...fields }),
    );
    expect([response.status, entries]).toEqual([400, []]);
  });
});

it('GET /image/styles lists the values of style_preset', async () => {
  const response = await world.api.call('/image/styles', { key: world.key });
  expect(await response.json()).toEqual({ object: 'list', data: IMAGE_STYLES });
});

describe('POST /image/background-remove', () => {
  it.each([
    ['base64', { image: base64 }],
    ['a data URL', { image: `data:image/png;base64,${base64}` }],
    ['a named model', { image: base64, model: 'local-cutout', image_url: null }],
  ])('accepts %s, with the local model where the published one is unavailable', async (_name, body) => {
    const { response, bytes, entries } = await charged(() => world.post('/image/background-remove', body));
    expect([response.status, response.headers.get('x-service-model-id')]).toEqual([200, 'local-cutout']);
    expect([response.headers.get('content-type'), bytes.equals(CARD)]).toEqual(['image/png', true]);
    expect(entries).toEqual(['local-cutout-image-unit 20000000']);
  });

  it('accepts a file', async () => {
    const form = new FormData();
    form.set('image', new Blob([CARD]), 'a.png');
    const { response, entries } = await charged(() => world.send('/image/background-remove', form));
    expect([response.status, entries]).toEqual([200, ['local-cutout-image-unit 20000000']]);
  });

  it.each([
    ['nothing', {}],
    ['blanks', { image: '  ' }],
    ['both', { image: base64, image_url: 'https://example.com/' }],
    ['a picture model', { image: base64, model: 'tiered-image' }],
    ['base64 in image_url', { image_url: base64 }],
    ['a private address', { image_url: 'http://127.0.0.1/x.png' }],
  ])('refuses %s', async (_name, body) => {
    const { response, entries } = await charged(() => world.post('/image/background-remove', body));
    expect([response.status, entries]).toEqual([400, []]);
  });

  it('uses the local model for a key that may call no other', async () => {
    const { accountId } = world;
    for (const more of [{ models: ['local-cutout'] }, { modelPrivacy: 'PRIVATE_ONLY' as const }]) {
      const { secret } = await world.api.newKey('INFERENCE', { accountId, ...more });
      const response = await world.api.call('/image/background-remove', {
        ...{ method: 'POST', key: secret, body: JSON.stringify({ image: base64 }) },
        headers: { 'content-type': 'application/json' },
      });
      expect([response.status, response.headers.get('x-service-model-id')]).toEqual([200, 'local-cutout']);
      await response.arrayBuffer();
    }
  });

  it('answers 503 for the unavailable published model by name', async () => {
    const response = await world.post('/image/background-remove', {
      image: base64,
      model: 'bria-bg-remover',
    });
    expect([response.status, JSON.stringify(await response.json())]).toEqual([
      503,
      expect.stringContaining('bria-bg-remover'),
    ]);
  });
});

describe('POST /image/upscale', () => {
  it.each([
    [{}, 2, 0.01, 30_000_000],
    [{ scale: 4, creativity: null }, 4, 0, 50_000_000],
    [{ scale: 2.5, creativity: 7, enhance: true }, 2.5, 0.02, 50_000_000],
  ])('%o', async (wished, scale, creativity, nano) => {
    const { response, entries } = await charged(() => world.post('/image/upscale', { image: base64, ...wished }));
    expect([response.status, response.headers.get('x-service-model-id')]).toEqual([200, 'local-upscale-image']);
    expect(entries).toEqual([`local-upscale-image-image-unit ${nano}`]);
    expect(world.imageProvider.enlargements.at(-1)).toMatchObject({ scale, creativity });
  });

  it('enlarges a large picture as far as the limit allows, at the price of that scale', async () => {
    const form = new FormData();
    form.set('scale', '4');
    form.set('image', new Blob([png(2_048, 2_048)]), 'a.png');
    const { response, entries } = await charged(() => world.send('/image/upscale', form));
    expect([response.status, world.imageProvider.enlargements.at(-1)?.scale]).toEqual([200, 2]);
    expect(entries).toEqual(['local-upscale-image-image-unit 30000000']);
  });

  it.each([{}, { image: base64, scale: 5 }, { image: base64, scale: 1.9 }, { image: 'nothing!' }])(
    'refuses %o',
    async (body) => {
      const { response, entries } = await charged(() => world.post('/image/upscale', body));
      expect([response.status, entries]).toEqual([400, []]);
    },
  );
});

it('allows twenty calls a minute and key, whatever name the model has', async () => {
  const limits = world.api.opened.dependencies.limits.calls;
  const before = limits.overrideOf;
  limits.overrideOf = () => ({});
  const { secret } = await world.api.newKey('INFERENCE');
  const call = (body: object) =>
    world.api.call('/image/background-remove', {
      ...{ method: 'POST', key: secret, body: JSON.stringify(body) },
      headers: { 'content-type': 'application/json', 'x-service-dry-run': 'true' },
    });
  const statuses: number[] = [];
  for (let calls = 0; calls < 21; calls += 1) {
    const named = calls % 2 === 0 ? { model: 'local-cutout' } : {};
    statuses.push((await call({ image: base64, ...named })).status);
  }
  limits.overrideOf = before;
  expect(statuses).toEqual([...Array(20).fill(200), 429]);
});
