/** POST /images/edits: OpenAI's own client works unchanged and pays the price of an edit. */
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TIERED_EDIT } from './tieredEdit.ts';
import { CARD, type ImageWorld, openImageWorld, png, withStub } from './world.ts';

let world: ImageWorld;
let client: OpenAI;
/** Text of the last answer. The client shows only parts of it. */
let said = '';

beforeAll(async () => {
  world = await openImageWorld(withStub([TIERED_EDIT]));
  const listening: typeof fetch = async (...call) => {
    const response = await fetch(...call);
    said = await response.clone().text();
    return response;
  };
  client = new OpenAI({ apiKey: world.key, baseURL: world.api.baseUrl, maxRetries: 0, fetch: listening });
});
afterAll(async () => await world.api.stop());

const base64 = CARD.toString('base64');
const card = () => toFile(CARD, 'card.png', { type: 'image/png' });

async function charged<T>(work: () => Promise<T>): Promise<{ given: T; entries: string[] }> {
  const before = await world.spent();
  const given = await work();
  return { given, entries: (await world.spent()).slice(before.length) };
}

describe("OpenAI's own client", () => {
  it('edits one picture', async () => {
    const { given, entries } = await charged(async () =>
      client.images.edit({ model: 'tiered-edit', image: await card(), prompt: 'warmer', size: '1792x1024' }),
    );
    expect(given.data).toEqual([{ b64_json: base64 }]);
    expect(given.created).toBeGreaterThan(1_700_000_000);
    expect(entries).toEqual(['tiered-edit-image-unit 100000000']);
    expect(world.imageProvider.edits.at(-1)).toMatchObject({
      prompt: 'warmer',
      ...{ aspectRatio: '16:9', width: 1_792, height: 1_024, resolution: '1K' },
      format: 'png',
    });
  });

  it('edits several, the first of which is the base', async () => {
    const layer = await toFile(png(300, 300), 'layer.png', { type: 'image/png' });
    const { entries } = await charged(async () =>
      client.images.edit({ model: 'tiered-edit', image: [await card(), layer], prompt: 'warmer' }),
    );
    expect(entries).toEqual(['tiered-edit-image-unit 110000000']);
    expect(world.imageProvider.edits.at(-1)?.images.map(({ width }) => width)).toEqual([320, 300]);
  });

  it('makes and charges the number of results', async () => {
    const edits = world.imageProvider.edits.length;
    const { given, entries } = await charged(async () =>
      client.images.edit({ model: 'tiered-edit', image: await card(), prompt: 'warmer', n: 3 }),
    );
    expect(given.data).toEqual(Array.from({ length: 3 }, () => ({ b64_json: base64 })));
    expect(entries).toEqual(['tiered-edit-image-unit 300000000']);
    expect(world.imageProvider.edits.length - edits).toBe(3);
  });

  it('charges nothing when one of several results fails', async () => {
    world.imageProvider.next = () => {
      throw new Error('no result');
    };
    const { given, entries } = await charged(async () =>
      client.images
        .edit({ model: 'tiered-edit', image: await card(), prompt: 'warmer', n: 2 })
        .catch((error: unknown) => error),
    );
    expect(given).toBeInstanceOf(OpenAI.InternalServerError);
    expect([entries, await world.held()]).toEqual([[], 0]);
  });

  it("may name OpenAI's models and unavailable sizes, which are replaced by the defaults", async () => {
    const { given, entries } = await charged(async () =>
      client.images
        .edit({
          ...{ model: 'gpt-image-1.5', image: await card(), prompt: 'warmer', n: 1, size: '1024x1536' },
          ...{ quality: 'auto', background: 'auto', input_fidelity: 'high', output_compression: 90 },
          ...{ output_format: 'jpeg', response_format: 'url', user: 'u-1', stream: false },
        })
        .withResponse(),
    );
    expect(given.response.headers.get('x-service-model-id')).toBe('firered-image-edit');
    expect(given.data.data?.[0]?.url).toBe(`data:image/png;base64,${base64}`);
    expect(entries).toEqual(['firered-image-edit-image-unit 40000000']);
    expect(world.imageProvider.edits.at(-1)?.format).toBe('jpeg');
  });

  it.each([
    ['no result', { n: 0 }, /"n"/],
    ['more than four results', { n: 5 }, /"n"/],
    ['an unknown quality', { quality: 'ultra' }, /quality/],
    ['a stream', { stream: true }, /stream/],
    ['a mask', { mask: card }, /only be sent in the field/],
    ['a transparent background', { background: 'transparent' }, /background/],
    ['no prompt', { prompt: '' }, /prompt/],
    ['no picture', { image: [] }, /image/],
    ['a size that there is not', { size: '1x1' }, /size/],
    ['a model that makes no edits', { model: 'z-image-turbo' }, /model/],
  ] as const)('is refused for %s, and pays nothing', async (_name, fields, told) => {
    const edits = world.imageProvider.edits.length;
    const resolved = Object.entries(fields).map(async ([key, value]) => [
      key,
      typeof value === 'function' ? await value() : value,
    ]);
    const asked = {
      ...{ model: 'tiered-edit', image: await card(), prompt: 'warmer' },
      ...Object.fromEntries(await Promise.all(resolved)),
    } as OpenAI.ImageEditParamsNonStreaming;
    const { given, entries } = await charged(() => client.images.edit(asked).catch((error) => error));
    expect(given).toBeInstanceOf(OpenAI.BadRequestError);
    expect(said).toMatch(told);
    expect([entries, world.imageProvider.edits.length]).toEqual([[], edits]);
  });
});
