import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { MODEL_TYPES } from '../../../domain/catalogue/model.ts';
import { createWorld } from '../../harness/services.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { modelEntry } from './shapes.ts';

const TIERS = { durations: { 60: { usd: 0.05, diem: 0.05 }, 120: { usd: 0.1, diem: 0.1 } } };

function voice(id: string, more: { entry?: object; spec?: object } = {}): object {
  return {
    ...{ id, type: 'music', provider: 'local', privacy: 'private', ...more.entry },
    spec: {
      ...{
        name: id,
        voice_changer: true,
        accepted_audio_formats: ['wav'],
        max_source_audio_duration_seconds: 120,
      },
      ...{ default_voice: 'alto', pricing: TIERS, ...more.spec },
    },
  };
}

const FILE = {
  brand: { name: 'acme', aliases: ['other'], systemPrompt: '' },
  models: [
    voice('aliased', { entry: { aliases: ['foreign-voice'] }, spec: { traits: ['default'] } }),
    voice('leaving', {
      spec: {
        deprecation: {
          ...{ autoRemap: false, date: '2026-01-02', removesAt: '2999-01-01' },
          replacementModelId: 'aliased',
        },
      },
    }),
    voice('left', {
      spec: {
        deprecation: {
          ...{ autoRemap: false, date: '2026-01-02', removesAt: '2026-02-01' },
          replacementModelId: 'aliased',
        },
      },
    }),
    voice('foreign', {
      entry: { provider: 'elevenlabs', privacy: 'anonymized', aliases: ['abroad'] },
      spec: { traits: ['abroad-choice'] },
    }),
    {
      ...{ id: 'editor', type: 'inpaint', provider: 'local', privacy: 'private' },
      spec: {
        name: 'Editor',
        constraints: {
          maxInputImages: 4,
          aspectRatios: ['1:1'],
          promptCharacterLimit: 100,
          combineImages: true,
        },
        pricing: { inpaint: { usd: 0.5, diem: 0.4 } },
      },
    },
    {
      ...{
        id: 'coder',
        type: 'text',
        provider: 'local',
        privacy: 'private',
        created: 5,
        discount_to_user: 0.5,
      },
      spec: {
        ...{ name: 'Coder', description: 'Codes.', availableContextTokens: 1000, traits: ['default'] },
        capabilities: { optimizedForCode: true },
        pricing: { input: { usd: 1, diem: 2 }, output: { usd: 3, diem: 4 } },
      },
    },
  ],
};

let folder: string;
let api: TestApi;
let open: TestApi;
let key: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'farebox-models-'));
  const { environment } = await createWorld();
  const start = async (name: string, catalogue: object) => {
    const file = path.join(folder, `${name}.json`);
    writeFileSync(file, JSON.stringify({ ...FILE, catalogue }));
    return await startApi({ environment: { ...environment, FAREBOX_CONFIG: file } });
  };
  api = await start('closed', {});
  open = await start('open', { openWithoutKey: true });
  key = (await api.fundedKey('INFERENCE')).secret;
});

afterAll(async () => {
  await Promise.all([api.stop(), open.stop()]);
  await rm(folder, { recursive: true, force: true });
});

interface Listing {
  object: string;
  type: string;
  data: z.output<typeof modelEntry>[];
}

async function list(query: string): Promise<Listing> {
  const response = await api.call(`/models${query}`, { key });
  expect([query, response.status]).toEqual([query, 200]);
  return (await response.json()) as Listing;
}

describe('GET /models', () => {
  it('shows every model in the published shape, with known keys alone', async () => {
    const { object, type, data } = await list('?type=all');
    expect([object, type]).toEqual(['list', 'all']);
    expect(data.length).toBeGreaterThan(100);
    for (const entry of data) {
      const parsed = modelEntry.safeParse(entry);
      expect([entry.id, parsed.error?.issues]).toEqual([entry.id, undefined]);
    }
  });

  it.each(MODEL_TYPES)('lists %s models only, and all of them', async (type) => {
    const all = await list('?type=all');
    const listing = await list(`?type=${type}`);
    expect(listing.type).toBe(type);
    expect(listing.data).toEqual(all.data.filter((entry) => entry.type === type));
    expect(listing.data.length).toBeGreaterThan(0);
  });

  it('lists text models when no type is given, and those made for code as `code`', async () => {
    expect(await list('')).toEqual(await list('?type=text'));
    const code = await list('?type=code');
    expect(code.type).toBe('code');
    expect(code.data.every((entry) => entry.type === 'text')).toBe(true);
    expect(code.data.map((entry) => entry.id)).toEqual(
      expect.arrayContaining(['zai-org-glm-5-2', 'deepseek-v4-pro-0813', 'coder']),
    );
    expect(code.data.map((entry) => entry.id)).not.toContain('zai-org-glm-5-1');
  });

  it.each([
    ['/models?type=voice', 'type'],
    ['/models?type=', 'type'],
    ['/models?type=Text', 'type'],
    ['/models?type=text&type=image', 'type'],
    ['/models?type=__proto__', 'type'],
    ['/models/traits?type=all', 'type'],
    ['/models/traits?type=code', 'type'],
    ['/models/compatibility_mapping?type=all', 'type'],
    ['/models/compatibility_mapping?type=code', 'type'],
    ["/models/compatibility_mapping?type=text'--", 'type'],
  ])('%s: 400 that names the parameter', async (url, parameter) => {
    const response = await api.call(url, { key });
    const body = (await response.json()) as { error: string; details: Record<string, { _errors: string[] }> };
    expect([response.status, body.error]).toEqual([400, 'Invalid request parameters']);
    expect(body.details[parameter]?._errors).toHaveLength(1);
  });

  it('refuses an unknown parameter', async () => {
    expect((await api.call('/models?kind=text', { key })).status).toBe(400);
  });

  it('shows a configured model with its settings, and defaults for the others', async () => {
    const { data } = await list('?type=text');
    expect(data.find((entry) => entry.id === 'coder')).toMatchObject({
      ...{
        object: 'model',
        created: 5,
        owned_by: 'acme',
        type: 'text',
        context_length: 1000,
        discount_to_user: 0.5,
      },
      model_spec: {
        ...{ name: 'Coder', description: 'Codes.', privacy: 'private', traits: [], offline: true },
        capabilities: { optimizedForCode: true, supportsVision: false, quantization: 'not-available' },
        pricing: { input: { usd: 1, diem: 2 }, output: { usd: 3, diem: 4 } },
      },
    });
    const traitsOf = (id: string) => data.find((entry) => entry.id === id)?.model_spec.traits;
    expect(traitsOf('zai-org-glm-5-2')).toEqual(['function_calling_default']);
    // The only text model that is online here.
    expect(traitsOf('simulator-text')).toEqual(['default', 'default_code']);
  });

  it('shows maxInputImages under capabilities and under constraints (MODEL-3)', async () => {
    const { data } = await list('?type=inpaint');
    expect(data.find((entry) => entry.id === 'editor')?.model_spec).toMatchObject({
      capabilities: { maxInputImages: 4 },
      constraints: { maxInputImages: 4 },
    });
  });

  it('shows a voice changer with its whole-minute tiers, online when it runs here', async () => {
    const { data } = await list('?type=music');
    expect(data.find((entry) => entry.id === 'aliased')?.model_spec).toMatchObject({
      ...{ voice_changer: true, offline: false, default_voice: 'alto', voices: ['alto'] },
      pricing: {
        durations: {
          60: { usd: 0.05, diem: 0.05, min_seconds: 1, max_seconds: 60 },
          120: { usd: 0.1, diem: 0.1, min_seconds: 61, max_seconds: 120 },
        },
      },
    });
    expect(data.find((entry) => entry.id === 'foreign')?.model_spec.offline).toBe(true);
  });
});

describe('the bytes of a listing', () => {
  it('are stable, with a strong ETag that saves a second download', async () => {
    const first = await api.call('/models?type=all', { key });
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[A-Za-z0-9_-]{20,}"$/);
    expect(first.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const again = await api.call('/models?type=all', { key });
    expect(again.headers.get('etag')).toBe(etag);
    expect(await again.text()).toBe(await first.text());
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const response = await api.call('/models?type=all', { key, headers: { 'If-None-Match': known } });
      expect([known, response.status, response.headers.get('etag'), await response.text()]).toEqual([
        ...[known, 304, etag, ''],
      ]);
    }
    const other = await api.call('/models?type=all', { key, headers: { 'If-None-Match': '"other"' } });
    expect(other.status).toBe(200);
    expect((await api.call('/models?type=text', { key })).headers.get('etag')).not.toBe(etag);
  });

  it('do not answer 304 without a key', async () => {
    const response = await api.call('/models', { headers: { 'If-None-Match': '*' } });
    expect(response.status).toBe(402);
  });
});

describe('names', () => {
  it('lists the model of each trait, for text by default', async () => {
    const response = await api.call('/models/traits', { key });
    expect(await response.json()).toMatchObject({
      ...{ object: 'list', type: 'text' },
      data: { default: 'simulator-text', function_calling_default: 'zai-org-glm-5-2', default_reasoning: 'kimi-k3' },
    });
    const music = await api.call('/models/traits?type=music', { key });
    expect(await music.json()).toEqual({
      ...{ object: 'list', type: 'music' },
      data: { default: 'aliased', 'abroad-choice': 'foreign' },
    });
  });

  it('maps published names and configured aliases to models', async () => {
    const response = await api.call('/models/compatibility_mapping', { key });
    expect(await response.json()).toMatchObject({
      object: 'list',
      type: 'text',
      data: { 'gpt-4o': 'llama-3.3-70b' },
    });
    const music = await api.call('/models/compatibility_mapping?type=music', { key });
    expect(await music.json()).toEqual({
      ...{ object: 'list', type: 'music' },
      data: { 'foreign-voice': 'aliased', abroad: 'foreign' },
    });
    const video = await api.call('/models/compatibility_mapping?type=video', { key });
    expect(await video.json()).toEqual({ object: 'list', type: 'video', data: {} });
  });
});

function post(route: string, body: object, secret: string): Promise<Response> {
  const headers = { 'Content-Type': 'application/json' };
  return api.call(`/audio/voice-changer/${route}`, {
    ...{ method: 'POST', key: secret, headers, body: JSON.stringify(body) },
  });
}

describe('a model named in a request', () => {
  it.each(['aliased', 'foreign-voice', 'default'])('%s is priced', async (model) => {
    const response = await post('quote', { model, duration_seconds: 61 }, key);
    expect([response.status, await response.json()]).toEqual([200, { quote: 0.1, duration_seconds: 61 }]);
    expect(response.headers.get('x-service-deprecated')).toBeNull();
  });

  it("that will be removed is announced in headers, also under the brand's aliases", async () => {
    const { headers } = await post('quote', { model: 'leaving', duration_seconds: 1 }, key);
    for (const prefix of ['x-service', 'x-other']) {
      expect(headers.get(`${prefix}-deprecated`)).toBe('true');
      expect(headers.get(`${prefix}-deprecated-replacement`)).toBe('aliased');
      expect(headers.get(`${prefix}-model-deprecation-date`)).toBe('2026-01-02');
      expect(headers.get(`${prefix}-model-deprecation-warning`)).toContain('2999-01-01');
    }
  });

  it.each([
    ['left', 'Specified model not found. The model left has been deprecated. Please use aliased instead.'],
    ['local-voice-changr', 'Specified model not found. Did you mean local-voice-changer?'],
    ['no-such-model', 'Specified model not found'],
  ])('%s is not found, with a hint where there is one', async (model, error) => {
    const response = await post('quote', { model, duration_seconds: 1 }, key);
    expect([response.status, await response.json()]).toEqual([404, { error }]);
  });

  it('that its service has ended is listed as deprecated and offline, and is not found in orders', async () => {
    const id = 'sora-2-text-to-video';
    const { data } = await list('?type=video');
    expect(data.find((entry) => entry.id === id)?.model_spec).toMatchObject({
      offline: true,
      deprecation: { date: '2026-09-24', removesAt: '2026-09-24', autoRemap: false },
    });
    const video = { model: id, duration: '4s', resolution: '720p' };
    for (const [route, body] of [
      ['quote', video],
      ['queue', { ...video, prompt: 'A lighthouse' }],
    ] as const) {
      const response = await api.call(`/video/${route}`, {
        ...{ method: 'POST', key, headers: { 'content-type': 'application/json' } },
        body: JSON.stringify(body),
      });
      const error = `Specified model not found. The model ${id} has been deprecated.`;
      expect([route, response.status, await response.json()]).toEqual([route, 404, { error }]);
    }
  });

  it('of another kind is refused with 400', async () => {
    const response = await post('quote', { model: 'lyria-3-pro', duration_seconds: 1 }, key);
    expect(response.status).toBe(400);
  });

  it.each(['foreign', 'abroad', 'abroad-choice'])(
    'is judged by the model behind the name %s for a private key',
    async (model) => {
      const { secret } = await api.fundedKey('INFERENCE', { modelPrivacy: 'PRIVATE_ONLY' });
      const body = { model, audio_url: 'https://example.com/a.wav' };
      const response = await post('queue', body, secret);
      expect([response.status, await response.json()]).toEqual([
        403,
        { error: expect.stringContaining('does not allow the model foreign') },
      ]);
      // A key without that setting gets 503, because the model is offline.
      expect((await post('queue', body, key)).status).toBe(503);
    },
  );
});

describe('access to the catalogue', () => {
  const ROUTES = ['/models', '/models/coder', '/models/traits', '/models/compatibility_mapping'];

  it.each(ROUTES)('%s requires a key unless the catalogue is open', async (route) => {
    expect((await api.call(route)).status).toBe(402);
    expect((await open.call(route)).status).toBe(200);
    expect((await open.call(route, { key })).status).toBe(200);
    expect((await open.call(route, { key: 'nonsense' })).status).toBe(401);
  });

  it('answers quotes alone without a key when the catalogue is open', async () => {
    const init = {
      ...{ method: 'POST', headers: { 'Content-Type': 'application/json' } },
      body: JSON.stringify({ model: 'aliased', duration_seconds: 1 }),
    };
    expect((await open.call('/audio/voice-changer/quote', init)).status).toBe(200);
    expect((await api.call('/audio/voice-changer/quote', init)).status).toBe(402);
    expect((await open.call('/characters')).status).toBe(402);
    expect((await open.call('/jobs')).status).toBe(402);
  });
});

describe('a quote without a key from an open catalogue', () => {
  const quote = (text: string) =>
    open.call('/video/quote', {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ model: 'nothing', prompt: text }),
    });

  it('is read up to 64 kB', async () => {
    expect((await quote('a'.repeat(1_000))).status).toBe(400);
    expect((await quote('a'.repeat(300_000))).status).toBe(413);
  });

  it('has a limit per minute and address', async () => {
    open.opened.dependencies.core.config.limits.perAddressPerMinute = 1;
    const answers = await Promise.all([quote('a'), quote('a'), quote('a'), quote('a')]);
    expect(answers.map(({ status }) => status)).toContain(429);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.headers.get('retry-after')).toMatch(/^\d+$/);
  });
});
