/** A prompt that a text model rewrites first: the picture, the answer and the price. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createWorld } from '../../harness/services.ts';
import { type OpenAiStub, startOpenAiStub } from '../../stubs/openai.ts';
import { CARD, type ImageWorld, openImageWorld, withStub } from './world.ts';

let stub: OpenAiStub;
let folder: string;
let world: ImageWorld;

beforeAll(async () => {
  stub = await startOpenAiStub();
  stub.apiKey = undefined;
  folder = await mkdtemp(join(tmpdir(), 'farebox-enhance-'));
  const file = join(folder, 'farebox.config.json');
  const price = { usd: 1, diem: 1 };
  const spec = { name: 'House', availableContextTokens: 32_768, pricing: { input: price, output: price } };
  await writeFile(
    file,
    JSON.stringify({
      providers: { llm: { kind: 'openai', baseUrl: stub.baseUrl, allowPrivateNetwork: true } },
      models: [{ id: 'house', type: 'text', provider: 'llm', upstreamModel: 'gpt-stub', privacy: 'private', spec }],
      images: { enhanceModel: 'house' },
    }),
  );
  const { environment } = await createWorld();
  world = await openImageWorld(withStub([]), { ...environment, FAREBOX_CONFIG: file });
});
afterAll(async () => {
  await world.api.stop();
  await Promise.all([stub.close(), rm(folder, { recursive: true })]);
});

const image = CARD.toString('base64');
const order = { prompt: 'warm', images: [image], enhance_prompt: true };

it('makes an edit with the rewritten prompt, returns it, and charges 0.04 USD more', async () => {
  const before = await world.spent();
  const response = await world.post('/image/multi-edit', order);
  await response.arrayBuffer();
  expect(response.status).toBe(200);
  const told = decodeURIComponent(response.headers.get('x-service-enhanced-prompt') ?? '');
  expect([told !== '' && told !== 'warm', world.imageProvider.edits.at(-1)?.prompt]).toEqual([true, told]);
  expect((await world.spent()).slice(before.length)).toEqual(['firered-image-edit-image-unit 80000000']);
});

it('makes new pictures with the rewritten prompt', async () => {
  const before = await world.spent();
  const response = await world.post('/image/generate', {
    model: 'z-image-turbo',
    prompt: 'a tram',
    enhance_prompt: true,
  });
  await response.arrayBuffer();
  expect([response.status, (await world.spent()).slice(before.length)]).toEqual([
    ...[200, ['z-image-turbo-image-unit 50000000']],
  ]);
});

it('makes and charges nothing when the text model fails', async () => {
  const before = await world.spent();
  const edits = world.imageProvider.edits.length;
  stub.next.push({ status: 500 });
  const response = await world.post('/image/multi-edit', order);
  expect([response.status, world.imageProvider.edits.length]).toEqual([500, edits]);
  expect([await world.spent(), await world.held()]).toEqual([before, 0]);
});
