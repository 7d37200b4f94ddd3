/** Cache writes of a conversation at its service are held and billed at the rate of their duration. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import { withCacheWriteRates } from '../../../domain/text/price.ts';
import { type AnthropicStub, startAnthropicStub } from '../../stubs/anthropic.ts';
import { startTextWorld, type TextWorld, textModel } from './textWorld.ts';

const usd = (amount: number) => ({ usd: amount, diem: amount });
const upstreamModel = 'claude-sonnet-4-5';
const pricing = { input: usd(3), output: usd(15), cache_input: usd(0.3) };
const { spec } = textModel({});
const claude = withCacheWriteRates(
  textModel({ id: 'claude', provider: 'claude', upstreamModel, spec: { ...spec, pricing } }),
);

let world: TextWorld;
let stub: AnthropicStub;

beforeAll(async () => {
  stub = await startAnthropicStub();
  const entry = {
    kind: 'anthropic',
    baseUrl: stub.baseUrl,
    apiKeyEnv: 'CLAUDE_KEY',
    allowPrivateNetwork: true,
  } as const;
  world = await startTextWorld((config) => ({
    ...config,
    providers: { ...config.providers, claude: entry },
    modelCatalogue: createCatalogue([...config.modelCatalogue.models, claude]),
    secret: (name) => (name === 'CLAUDE_KEY' ? stub.apiKey : config.secret(name)),
  }));
});
afterAll(async () => {
  await world.close();
  await stub.close();
});

/** More than 1,010 tokens. */
const PROMPT = 'Hello there. '.repeat(600);
const marked = (ttl: '5m' | '1h') => ({
  messages: [
    {
      role: 'user',
      content: [{ type: 'text', text: PROMPT, cache_control: { type: 'ephemeral', ttl } }],
    },
  ],
});
const usage = (fiveMinutes: number, hour: number) => ({
  input_tokens: 10,
  output_tokens: 7,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: fiveMinutes + hour,
  cache_creation: { ephemeral_5m_input_tokens: fiveMinutes, ephemeral_1h_input_tokens: hour },
});

async function ask(more: object): Promise<{ id: string; usage: Record<string, unknown> }> {
  const response = await world.chat({ model: 'claude', max_tokens: 20, ...more });
  expect(response.status).toBe(200);
  return (await response.json()) as { id: string; usage: Record<string, unknown> };
}

describe('the bill of a cache write', () => {
  it.each([
    ['for five minutes at 1.25 times the input', marked('5m'), usage(1_000, 0), 1_000n * 3_750n],
    ['for an hour at twice the input', marked('1h'), usage(0, 1_000), 1_000n * 6_000n],
    ['by parts where it is of both lengths', marked('1h'), usage(400, 600), 400n * 3_750n + 600n * 6_000n],
  ])('%s', async (_name, body, told, writes) => {
    stub.next = [{ usage: told }];
    const answer = await ask(body);
    expect(answer.usage.prompt_tokens_details).toEqual({
      cached_tokens: 0,
      cache_creation_input_tokens: 1_000,
    });
    const entry = await world.entryOf(answer.id);
    expect(entry?.amountNano).toBe(writes + 10n * 3_000n + 7n * 15_000n);
  });
});

it('the hold covers the most expensive requested cache write', async () => {
  const held = async (body: object) => {
    const asked = { model: 'claude', max_tokens: 20, ...body };
    const response = await world.chat(asked, { headers: { 'x-service-dry-run': 'true' } });
    const { bounds } = (await response.json()) as {
      bounds: [{ cost: { usd: number }; prompt_tokens: number }];
    };
    const [{ cost, prompt_tokens }] = bounds;
    return Math.round((cost.usd * 1e9 - 20 * 15_000) / prompt_tokens);
  };
  expect(await held(marked('5m'))).toBe(3_750);
  expect(await held(marked('1h'))).toBe(6_000);
  for (const retention of ['24h', 'extended', '1h', '12h', '2d']) {
    expect(await held({ prompt_cache_retention: retention }), retention).toBe(6_000);
  }
  for (const retention of ['in_memory', '300s', '10m']) {
    expect(await held({ prompt_cache_retention: retention }), retention).toBe(3_750);
  }
});

it('the requested retention reaches the service as the nearest length that it offers', async () => {
  for (const [retention, ttl] of [
    ['in_memory', '5m'],
    ['30m', '5m'],
    ['1h', '1h'],
    ['24h', '1h'],
    ['extended', '1h'],
  ] as const) {
    await ask({ messages: [{ role: 'user', content: PROMPT }], prompt_cache_retention: retention });
    expect(stub.received.at(-1)?.body, retention).toMatchObject({ cache_control: { type: 'ephemeral', ttl } });
  }
  await ask({ messages: [{ role: 'user', content: PROMPT }], prompt_cache_retention: 'default' });
  expect(stub.received.at(-1)?.body).not.toHaveProperty('cache_control');
});
