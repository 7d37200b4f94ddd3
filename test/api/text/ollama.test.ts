/** The models of a detected Ollama: listed, free of charge, and overridden by the operator's models. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import { withFoundModels } from '../../../infra/config/withFoundModels.ts';
import { grant } from '../../../infra/postgres/ledger.ts';
import { findOllama } from '../../../providers/ollama/findOllama.ts';
import { createWorld, services, spawnApi } from '../../harness/services.ts';
import { type OllamaStub, startOllamaStub } from '../../stubs/ollama.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { textModel } from './textWorld.ts';

const MODELS = {
  'llama3.2:latest': { capabilities: ['completion', 'tools'] },
  'qwen3:8b': { capabilities: ['completion', 'tools', 'thinking'] },
  'hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M': { capabilities: ['completion'] },
  'nomic-embed-text:latest': { capabilities: ['embedding'], embeddingLength: 8 },
  // Names that are already taken here.
  'local-voice-changer:latest': { capabilities: ['completion'] },
  simulator_text: { capabilities: ['completion'] },
  'house:70b': { capabilities: ['completion'] },
  'priced:7b': { capabilities: ['completion'] },
  '_odd:latest': { capabilities: ['completion'] },
  [`${'long'.repeat(40)}:latest`]: { capabilities: ['completion'] },
};

let stub: OllamaStub;
let api: TestApi;
let key: string;
let poor: string;

beforeAll(async () => {
  stub = await startOllamaStub(MODELS);
  const found = await findOllama({ address: stub.address, listMs: 20_000, showMs: 20_000 });
  const { environment } = await createWorld();
  const own = [
    textModel({ id: 'house-chat', provider: 'nowhere', aliases: ['house:70b'] }),
    textModel({ id: 'priced:7b', provider: 'ollama', upstreamModel: 'priced:7b' }),
  ];
  api = await startApi({
    environment: { ...environment, OLLAMA_HOST: stub.address },
    config: (config) => {
      const modelCatalogue = createCatalogue([...config.models, ...own]);
      const configured = { ...config, models: modelCatalogue.models, modelCatalogue };
      return withFoundModels(configured, found?.models ?? []).config;
    },
  });
  ({ secret: poor } = await api.newKey('INFERENCE'));
  const rich = await api.newKey('INFERENCE');
  key = rich.secret;
  const { accountId } = rich;
  const { sql } = api.opened.dependencies.core;
  await grant(sql, {
    operationId: randomUUID(),
    accountId,
    currency: 'usd',
    amount: 10n ** 10n,
    notes: 'test',
  });
});

afterAll(async () => {
  await api.stop();
  await stub.close();
});

const USER = [{ role: 'user', content: 'Hello there' }];
function post(path: string, body: object, secret = key): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return api.call(path, { method: 'POST', key: secret, headers, body: JSON.stringify(body) });
}
const chat = (model: string, more: object = {}) => post('/chat/completions', { model, messages: USER, ...more });

interface Listed {
  id: string;
  type: string;
  context_length?: number;
  model_spec: { offline: boolean; pricing: unknown; capabilities?: Record<string, unknown> };
}

async function listing(): Promise<Map<string, Listed>> {
  const { data } = (await (await api.call('/models?type=all', { key })).json()) as { data: Listed[] };
  return new Map(data.map((model) => [model.id, model]));
}

describe('the listing', () => {
  it('has them with their type, online, at an explicit price of zero', async () => {
    const listed = await listing();
    const free = { input: { usd: 0, diem: 0 }, output: { usd: 0, diem: 0 } };
    for (const id of ['llama3.2:latest', 'qwen3:8b', 'hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M']) {
      expect(listed.get(id)).toMatchObject({
        ...{ type: 'text', context_length: 131_072 },
        model_spec: { offline: false, pricing: free },
      });
    }
    expect(listed.get('qwen3:8b')?.model_spec.capabilities).toMatchObject({
      ...{ supportsFunctionCalling: true, supportsReasoning: true, supportsVision: false },
    });
    expect(listed.get('nomic-embed-text:latest')).toMatchObject({
      ...{ type: 'embedding', model_spec: { offline: false, embeddingDimensions: 8 } },
    });
  });

  it("does not override taken names and the operator's models, and skips invalid ids", async () => {
    const listed = await listing();
    expect(listed.get('priced:7b')?.model_spec.pricing).toMatchObject({ input: { usd: 1, diem: 1 } });
    for (const id of ['house:70b', 'simulator_text', '_odd:latest', `${'long'.repeat(40)}:latest`]) {
      expect(listed.has(id)).toBe(false);
    }
    // The name is free with its tag and taken without it.
    expect(listed.has('local-voice-changer:latest')).toBe(true);
    const names = (await (await api.call('/models/compatibility_mapping', { key })).json()) as {
      data: object;
    };
    expect(names.data).toMatchObject({ 'llama3.2': 'llama3.2:latest', 'house:70b': 'house-chat' });
    expect(names.data).not.toHaveProperty('local-voice-changer');
  });
});

describe('a chat', () => {
  it('costs nothing, to the last nano, and needs no credit', async () => {
    for (const secret of [key, poor]) {
      const response = await post('/chat/completions', { model: 'llama3.2:latest', messages: USER }, secret);
      const body = (await response.json()) as Record<string, unknown>;
      expect([response.status, body]).toMatchObject([
        200,
        {
          ...{ model: 'llama3.2:latest', cost: { usd: 0, diem: 0 } },
          choices: [{ message: { content: 'Served from here.' } }],
          usage: { completion_tokens: 3 },
        },
      ]);
    }
    const { sql } = api.opened.dependencies.core;
    const { rows: transfers } = await sql.query("select * from transfers where kind <> 'grant'");
    const { rows: holds } = await sql.query('select * from holds');
    expect([transfers, holds]).toEqual([[], []]);
  });

  it('costs nothing as a stream', async () => {
    const text = await (await chat('llama3.2:latest', { stream: true })).text();
    const events = text.match(/^data: \{.*$/gm)?.map((line) => JSON.parse(line.slice(6)));
    const words = events?.map(({ choices }) => choices[0]?.delta?.content ?? '').join('');
    expect([words, text]).toEqual(['Served from here.', expect.stringContaining('[DONE]')]);
    expect(events?.at(-1)).toMatchObject({ cost: { usd: 0, diem: 0 }, balance: { usd: 10 } });
  });

  it.each([
    ['llama3.2', 'llama3.2:latest'],
    ['qwen3:8b', 'qwen3:8b'],
    ['hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M', 'hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M'],
    ['llama3.2:latest:include_service_system_prompt=false', 'llama3.2:latest'],
    ['llama3.2:include_service_system_prompt=false', 'llama3.2:latest'],
    [
      'hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M:strip_thinking_response=true&enable_web_search=off',
      'hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M',
    ],
  ])('with %s is answered by %s', async (name, id) => {
    const response = await chat(name);
    expect([response.status, await response.json()]).toMatchObject([200, { model: id }]);
    expect(stub.asked.at(-1)?.model).toBe(id);
  });

  it('accepts settings after a name that contains colons', async () => {
    await chat('qwen3:8b:disable_thinking=true&strip_thinking_response=true');
    expect(stub.asked.at(-1)).toMatchObject({ model: 'qwen3:8b', reasoning_effort: 'none' });
    const { service_parameters: told } = (await (await chat('qwen3:8b:disable_thinking=true')).json()) as {
      service_parameters: object;
    };
    expect(told).toMatchObject({ disable_thinking: true });
  });

  it('reasons when the model can, unless reasoning is disabled', async () => {
    const thought = async (more: object) => {
      const body = (await (await chat('qwen3:8b', more)).json()) as {
        choices: { message: { reasoning_content?: string } }[];
      };
      return body.choices[0]?.message.reasoning_content ?? null;
    };
    expect(await thought({})).toBe('Let me see.');
    expect(await thought({ service_parameters: { disable_thinking: true } })).toBeNull();
    expect(await thought({ reasoning_effort: 'none' })).toBeNull();
  });

  it('is refused before any upstream call for a feature that the model lacks', async () => {
    const before = stub.asked.length;
    const image_url = { url: 'data:image/png;base64,iVBORw0KGgo=' };
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url }] }];
    expect((await chat('llama3.2', { messages })).status).toBe(400);
    expect(stub.asked).toHaveLength(before);
  });

  it("is billed where the operator's own entry has a price", async () => {
    const body = (await (await chat('priced:7b')).json()) as { cost: { usd: number } };
    expect(body.cost.usd).toBeGreaterThan(0);
    expect(stub.asked.at(-1)?.model).toBe('priced:7b');
  });
});

describe('an embedding', () => {
  it.each(['float', 'base64'])('costs nothing, as %s', async (encoding_format) => {
    const order = { model: 'nomic-embed-text', input: ['one two', 'three'], encoding_format };
    const response = await post('/embeddings', order, poor);
    const body = (await response.json()) as { model: string; data: { embedding: number[] | string }[] };
    expect([response.status, body.model, body.data.length]).toEqual([200, 'nomic-embed-text:latest', 2]);
    const [first] = body.data;
    const bytes = typeof first?.embedding === 'string' ? Buffer.from(first.embedding, 'base64') : undefined;
    expect(bytes ? [bytes.readFloatLE(0), bytes.length] : first?.embedding.slice(0, 2)).toEqual(
      bytes ? [7, 32] : [7, 0.5],
    );
  });
});

describe('an API process', () => {
  it.each([
    ['lists the models of OLLAMA_HOST', {}, true],
    ['does not list them when the configuration disables it', { ollama: { find: false } }, false],
  ])('%s', async (_what, content, listed) => {
    const { environment } = await createWorld();
    const file = path.join(services().folder, `ollama-${listed}.json`);
    writeFileSync(file, JSON.stringify({ ...content, catalogue: { openWithoutKey: true } }));
    const server = await spawnApi({
      environment: { ...environment, OLLAMA_HOST: stub.address, FAREBOX_CONFIG: file },
    });
    const { data } = (await (await fetch(`${server.baseUrl}/models?type=all`)).json()) as { data: Listed[] };
    expect(data.some(({ id }) => id === 'qwen3:8b')).toBe(listed);
    await server.stop();
  });
});
