/** With the key of one service, the models of that service are online, and no others (MODEL-15). */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUILT_IN_MODELS } from '../../../domain/catalogue/catalogue.ts';
import type { Model } from '../../../domain/catalogue/model.ts';
import { createWorld } from '../../harness/services.ts';
import { SERVED } from '../../providers/publishedModels.ts';
import { testWav } from '../../stubs/elevenlabsAudio.ts';
import { STUB_PNG } from '../../stubs/openaiMedia.ts';
import { startApi, type TestApi } from '../startApi.ts';

const KEYS: Readonly<Record<string, string>> = {
  openai: 'OPENAI_API_KEY',
  anthropic: 'ANTHROPIC_API_KEY',
  elevenlabs: 'ELEVENLABS_API_KEY',
  fal: 'FAL_KEY',
  replicate: 'REPLICATE_API_TOKEN',
};

/** Published models of services: those of this machine have their names in the catalogue. */
const PUBLISHED = BUILT_IN_MODELS.filter(({ upstreamModel }) => upstreamModel === undefined);

let folder: string;
let service: Server;
let baseUrl: string;
/** Requests that the service received. */
let received = 0;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'farebox-online-'));
  service = createServer((request, response) => {
    received += 1;
    request.resume();
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"no such model"}}');
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
});
afterAll(async () => {
  service.closeAllConnections();
  await new Promise((resolve) => service.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

async function startWith(kind: string): Promise<TestApi> {
  const { environment } = await createWorld();
  const file = path.join(folder, `${kind}.json`);
  const dialect = kind === 'openai' ? { dialect: 'openai' } : {};
  const entry = { kind, baseUrl, allowPrivateNetwork: true, ...dialect };
  await writeFile(file, JSON.stringify({ providers: { [kind]: entry } }));
  return await startApi({ environment: { ...environment, FAREBOX_CONFIG: file, [KEYS[kind] ?? '']: 'id:secret' } });
}

/** Route and body of an order of the model, for each kind of model that is answered at once. */
const IMAGE = STUB_PNG.toString('base64');
const ORDERS: Partial<Record<Model['kind'], (model: string) => [route: string, body: object | FormData]>> = {
  text: (model) => ['/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] }],
  embedding: (model) => ['/embeddings', { model, input: 'Hello' }],
  inpaint: (model) => ['/image/edit', { model, prompt: 'Brighter', image: IMAGE }],
  upscale: (model) => ['/image/upscale', { model, image: IMAGE }],
  tts: (model) => ['/audio/speech', { model, input: 'Hello' }],
  asr: (model) => {
    const form = new FormData();
    form.append('file', new Blob([Uint8Array.from(testWav(1))]), 'a.wav');
    form.append('model', model);
    return ['/audio/transcriptions', form];
  },
};

function orderOf({ id, kind, ...model }: Model): [route: string, body: object | FormData] | undefined {
  if (kind !== 'image') return ORDERS[kind]?.(id);
  const isCutout = 'imageUse' in model && model.imageUse === 'cutout';
  return isCutout
    ? ['/image/background-remove', { model: id, image: IMAGE }]
    : ['/image/generate', { model: id, prompt: 'A cat' }];
}

describe.each(Object.keys(KEYS))('with the key of %s', (kind) => {
  let api: TestApi;
  let key: string;
  let online: Set<string>;
  beforeAll(async () => {
    api = await startWith(kind);
    key = (await api.fundedKey('INFERENCE')).secret;
    const response = await api.call('/models?type=all', { key });
    const { data } = (await response.json()) as { data: { id: string; model_spec: { offline: boolean } }[] };
    online = new Set(data.flatMap(({ id, model_spec }) => (model_spec.offline ? [] : [id])));
  });
  afterAll(() => api.stop());

  it('lists only models as online that the service has', () => {
    const listed = PUBLISHED.filter(({ id }) => online.has(id)).map(({ id }) => id);
    expect(listed.filter((id) => !(id in (SERVED[kind] ?? {})))).toEqual([]);
  });

  it('sends every order of a listed model to the service, and answers 503 with the reason for each other one', async () => {
    for (const model of PUBLISHED) {
      const order = orderOf(model);
      if (order === undefined) continue;
      const [route, body] = order;
      const headers: Record<string, string> = body instanceof FormData ? {} : { 'content-type': 'application/json' };
      const before = received;
      const sent = body instanceof FormData ? body : JSON.stringify(body);
      const response = await api.call(route, { method: 'POST', key, headers, body: sent });
      const isOffline = (await response.text()).includes(`The model ${model.id} is offline: `);
      expect([model.id, isOffline]).toEqual([model.id, !online.has(model.id)]);
      if (isOffline) expect([model.id, response.status, received]).toEqual([model.id, 503, before]);
    }
  });

  it('gives each default trait to a model that is online, where there is one of its type', async () => {
    for (const type of ['text', 'image', 'inpaint']) {
      const response = await api.call(`/models/traits?type=${type}`, { key });
      const { data } = (await response.json()) as { data: Record<string, string> };
      expect([type, online.has(data.default ?? '')]).toEqual([type, true]);
    }
  });
});
