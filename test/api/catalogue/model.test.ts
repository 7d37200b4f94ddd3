/** GET /models/{model}: one entry of the list, by every name that requests accept. */
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import OpenAI, { NotFoundError } from 'openai';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { createWorld } from '../../harness/services.ts';
import { startApi, type TestApi } from '../startApi.ts';

const PRICING = { input: { usd: 1, diem: 1 }, output: { usd: 1, diem: 1 } };

function textModel(id: string, more: { entry?: object; spec?: object } = {}): object {
  return {
    ...{ id, type: 'text', provider: 'simulator', privacy: 'private', ...more.entry },
    spec: { name: id, availableContextTokens: 1_000, pricing: PRICING, ...more.spec },
  };
}

function deprecation(removesAt: string) {
  return { deprecation: { autoRemap: false, date: '2026-01-02', removesAt, replacementModelId: 'plain' } };
}

const SLASHED = 'maker/family:8b-v1.5';
const FILE = {
  brand: { name: 'acme' },
  models: [
    textModel('plain', { entry: { aliases: ['foreign/name:latest'] }, spec: { traits: ['default'] } }),
    textModel(SLASHED),
    textModel('leaving', { spec: deprecation('2999-01-01') }),
    textModel('left', { spec: deprecation('2026-02-01') }),
    {
      ...{ id: 'voice', type: 'tts', provider: 'local', privacy: 'private', aliases: ['tts-1'] },
      spec: { name: 'Voice', pricing: { input: { usd: 1, diem: 1 } } },
    },
  ],
};

let folder: string;
let api: TestApi;
let key: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'farebox-model-'));
  const file = path.join(folder, 'config.json');
  writeFileSync(file, JSON.stringify(FILE));
  const { environment } = await createWorld();
  api = await startApi({ environment: { ...environment, FAREBOX_CONFIG: file } });
  key = (await api.newKey('INFERENCE')).secret;
});
afterAll(async () => {
  await api.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Entry {
  id: string;
  object: string;
  model_spec: { deprecation?: { removesAt: string } };
}

async function entryOf(name: string, headers: Record<string, string> = {}) {
  const response = await api.call(`/models/${name}`, { key, headers });
  return { response, body: (await response.json()) as Entry };
}

describe('an id', () => {
  it('gets the entry of the list, for every listed model', async () => {
    const listed = await api.call('/models?type=all', { key });
    const { data } = (await listed.json()) as { data: Entry[] };
    const now = new Date().toISOString();
    const isThere = ({ model_spec: { deprecation } }: Entry) =>
      deprecation === undefined || now < deprecation.removesAt;
    for (const entry of data.filter(isThere)) {
      expect((await entryOf(encodeURIComponent(entry.id))).body).toEqual(entry);
    }
  });

  test.each([SLASHED, encodeURIComponent(SLASHED), SLASHED.replace('/', '%2f')])(
    'may be written as %s',
    async (name) => {
      const { response, body } = await entryOf(name);
      expect([response.status, body.id, body.object]).toEqual([200, SLASHED, 'model']);
    },
  );

  it('is retrieved by the client of OpenAI', async () => {
    const client = new OpenAI({ apiKey: key, baseURL: api.baseUrl, maxRetries: 0 });
    for (const id of ['plain', SLASHED]) {
      expect(await client.models.retrieve(id)).toMatchObject({ id, object: 'model', owned_by: 'acme' });
    }
    await expect(client.models.retrieve('no/such model')).rejects.toThrow(NotFoundError);
  });

  it('has an ETag that saves a second download', async () => {
    const { response } = await entryOf('plain');
    const etag = response.headers.get('etag') ?? '';
    const again = await api.call('/models/plain', { key, headers: { 'if-none-match': etag } });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  it('that will be removed is announced in headers', async () => {
    const { response } = await entryOf('leaving');
    expect(response.headers.get('x-service-deprecated-replacement')).toBe('plain');
  });
});

describe('another name', () => {
  test.each([
    ['default', 'plain'],
    ['foreign/name:latest', 'plain'],
    [encodeURIComponent('foreign/name:latest'), 'plain'],
    ['maker/family:8b-v1-5', SLASHED],
    ['tts-1', 'voice'],
  ])('%s gets the entry of %s', async (name, id) => {
    const { response, body } = await entryOf(name);
    expect([response.status, body.id]).toEqual([200, id]);
  });
});

describe('an unknown name', () => {
  test.each([
    ['no-such-model', 'Specified model not found'],
    ['no/such/model', 'Specified model not found'],
    ['%E0%A4%A', 'Specified model not found'],
    ['__proto__', 'Specified model not found'],
    ['simulator-texd', 'Specified model not found. Did you mean simulator-text?'],
    ['left', 'Specified model not found. The model left has been deprecated. Please use plain instead.'],
  ])('%s gets 404', async (name, error) => {
    const { response, body } = await entryOf(name);
    expect([response.status, body]).toEqual([404, { error }]);
  });
});

it('needs a key, and hides no route with a fixed word', async () => {
  expect((await api.call('/models/plain')).status).toBe(402);
  for (const word of ['traits', 'compatibility_mapping']) {
    expect((await entryOf(word)).body).toMatchObject({ object: 'list' });
  }
});
