import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { freePorts } from '../../../dev/stack/freePorts.ts';
import { findOllama } from '../../../providers/ollama/findOllama.ts';
import { type OllamaModel, type OllamaStub, startOllamaStub } from '../../stubs/ollama.ts';

/** Long enough for a busy machine. */
const LONG_TIMEOUTS = { listMs: 20_000, showMs: 20_000 };

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function ollama(models: Record<string, OllamaModel>): Promise<OllamaStub> {
  const stub = await startOllamaStub(models);
  closing.push(() => stub.close());
  return stub;
}

async function lookAt(models: Record<string, OllamaModel>) {
  const { address } = await ollama(models);
  return await findOllama({ address, ...LONG_TIMEOUTS });
}

async function server(listener: RequestListener): Promise<string> {
  const opened = createServer(listener);
  closing.push(() => {
    opened.closeAllConnections();
    opened.close();
  });
  await new Promise<void>((resolve) => opened.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(opened.address() as AddressInfo).port}`;
}

const CHAT = { capabilities: ['completion'] };

describe('a model of an Ollama', () => {
  it('for text is listed under its local name, free of charge, with exactly the reported capabilities', async () => {
    const found = await lookAt({
      'llama3.2:latest': { capabilities: ['completion', 'tools'], quantization: 'Q8_0' },
      'gemma3:4b': { capabilities: ['completion', 'vision'], architecture: 'gemma3', contextLength: 8_192 },
      'qwen3:8b': { capabilities: ['completion', 'tools', 'thinking', 'insert'] },
    });
    const byId = Object.fromEntries((found?.models ?? []).map((model) => [model.id, model]));
    expect(byId['llama3.2:latest']).toEqual({
      ...{ id: 'llama3.2:latest', upstreamModel: 'llama3.2:latest', name: 'llama3.2:latest' },
      ...{ kind: 'text', type: 'text', provider: 'ollama', privacy: 'private', modelSource: '' },
      description: 'A model of the Ollama that serves here, 3.2B parameters, Q8_0',
      created: Date.parse('2025-05-04T17:37:44-07:00') / 1_000,
      spec: {
        availableContextTokens: 131_072,
        capabilities: {
          ...{ supportsFunctionCalling: true, supportsVision: false, supportsAudioInput: false },
          ...{ supportsReasoning: false, supportsResponseSchema: true, quantization: 'int8' },
        },
        pricing: { input: { usd: 0, diem: 0 }, output: { usd: 0, diem: 0 } },
      },
    });
    expect(byId['gemma3:4b']?.spec).toMatchObject({
      availableContextTokens: 8_192,
      capabilities: { supportsVision: true, supportsFunctionCalling: false },
    });
    expect(byId['qwen3:8b']?.spec).toMatchObject({
      capabilities: { supportsReasoning: true, supportsFunctionCalling: true },
    });
    expect(found?.leftOut).toBe(0);
  });

  it('for embeddings is an embedding model, with its length', async () => {
    const found = await lookAt({
      'nomic-embed-text:latest': {
        ...{ capabilities: ['embedding'], architecture: 'nomic-bert' },
        ...{ contextLength: 2_048, embeddingLength: 768 },
      },
    });
    expect(found?.models).toMatchObject([
      {
        ...{ id: 'nomic-embed-text:latest', type: 'embedding' },
        spec: { embeddingDimensions: 768, maxInputTokens: 2_048, pricing: { input: { usd: 0, diem: 0 } } },
      },
    ]);
  });

  it('that loads less context than it was trained for is listed with that length', async () => {
    const parameters = 'stop   "<|eot_id|>"\nnum_ctx                        16384\ntemperature   0.6';
    const found = await lookAt({
      'small:1b': { ...CHAT, parameters },
      'tiny:1b': { ...CHAT, parameters, contextLength: 2_048 },
    });
    expect(found?.models.map(({ spec }) => spec)).toMatchObject([
      { availableContextTokens: 16_384 },
      { availableContextTokens: 2_048 },
    ]);
  });

  it('of an old version, which reports no capabilities, has none beyond its type', async () => {
    const found = await lookAt({ 'old:7b': {}, 'all-minilm:22m': { architecture: 'bert', poolingType: 1 } });
    expect(found?.models).toMatchObject([
      { id: 'old:7b', type: 'text', spec: { capabilities: { supportsFunctionCalling: false } } },
      { id: 'all-minilm:22m', type: 'embedding' },
    ]);
  });

  it.each<[string, OllamaModel]>([
    ['is run by a service elsewhere', { ...CHAT, remoteHost: 'https://ollama.com:443' }],
    ['draws pictures', { capabilities: ['image'] }],
    ['has no description', { shown: {} }],
    ['has a description of another shape', { shown: { model_info: [] } }],
    ['has a description that is no object', { shown: 'llama' }],
  ])('that %s is left out, and the others are listed', async (_what, model) => {
    const found = await lookAt({ 'odd:latest': model, 'llama3.2:latest': CHAT });
    expect(found?.models.map(({ id }) => id)).toEqual(['llama3.2:latest']);
  });

  it('whose description times out is left out, and the others are listed', async () => {
    const stub = await ollama({ 'slow:latest': CHAT, 'llama3.2:latest': CHAT });
    stub.silent.add('slow:latest');
    const found = await findOllama({ address: stub.address, listMs: 20_000, showMs: 1_000 });
    expect(found).toMatchObject({ models: [{ id: 'llama3.2:latest' }], leftOut: 1 });
  });
});

describe('an Ollama', () => {
  it('without models is still found', async () => {
    expect(await lookAt({})).toEqual({ models: [], leftOut: 0 });
  });

  it('with ten thousand models is asked about the 200 that changed last', async () => {
    const time = (at: number) => new Date(Date.UTC(2025, 0, 1) + at * 60_000).toISOString();
    const models = Array.from({ length: 10_000 }, (_, at) => [`m${at}:latest`, { ...CHAT, modifiedAt: time(at) }]);
    const stub = await ollama(Object.fromEntries(models));
    const found = await findOllama({ address: stub.address, ...LONG_TIMEOUTS });
    expect(stub.shown).toHaveLength(200);
    expect(found?.models.map(({ id }) => id)).toEqual(Array.from({ length: 200 }, (_, at) => `m${9_999 - at}:latest`));
    expect(found?.leftOut).toBe(9_800);
  });

  it('that is not running is absent at once after a refused connection', async () => {
    const [port] = await freePorts(1);
    expect(await findOllama({ address: `http://127.0.0.1:${port}`, listMs: 3_600_000 })).toBeUndefined();
  });
});

describe('other services on the port, which get one request only', () => {
  const json = (body: unknown): RequestListener => {
    return (_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(body));
    };
  };

  it.each<[string, RequestListener]>([
    ['a page', (_request, response) => response.end('<!doctype html><html><body>It works!</body></html>')],
    ['an empty answer', (_request, response) => response.end()],
    ['half a JSON', (_request, response) => response.end('{"models":[{"na')],
    ['a list', json([])],
    ['an empty object', json({})],
    ['models that are no list', json({ models: { name: 'x' } })],
    ['models that are no objects', json({ models: ['llama3.2'] })],
    ['models without names', json({ models: [{ id: 'llama3.2' }] })],
    ['404', (_request, response) => response.writeHead(404).end('{"models":[]}')],
    ['500', (_request, response) => response.writeHead(500).end('{"models":[]}')],
    ['a way elsewhere', (_request, response) => response.writeHead(302, { location: '/api/tags/' }).end()],
    ['nothing', () => undefined],
    ['a head and nothing', (_request, response) => response.flushHeaders()],
    ['a break', (request) => request.socket.destroy()],
    ['no HTTP', (request) => request.socket.end('SSH-2.0-OpenSSH_9.2\r\n')],
    [
      'bytes without end',
      (_request, response) => {
        const more = (): void => void (response.destroyed || response.write(Buffer.alloc(65_536, '['), more));
        more();
      },
    ],
  ])('%s', async (_what, listener) => {
    let asked = 0;
    const address = await server((request, response) => {
      asked += 1;
      listener(request, response);
    });
    expect(await findOllama({ address })).toBeUndefined();
    expect(asked).toBe(1);
  });
});
