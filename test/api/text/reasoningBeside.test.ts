/** A service that counts reasoning beside the answer limit is paid for it: the hold covers both. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { textFeaturesOf } from '../../../domain/providerKind.ts';
import type { ProviderSettings } from '../../../domain/providerSettings.ts';
import type { OpenAiSettings } from '../../../providers/openai/settings.ts';
import { configured } from '../../providers/configured.ts';
import { startTextWorld, type TextWorld } from './textWorld.ts';

let world: TextWorld;

beforeAll(async () => {
  world = await startTextWorld((config) => {
    const { stub } = config.providers;
    if (stub?.kind !== 'openai') throw new Error('no stub');
    const beside = { ...stub, reasoningBeside: true } as ProviderSettings;
    return { ...config, providers: { ...config.providers, stub: beside } };
  });
});
afterAll(() => world.close());

async function ask(more: object, headers: Record<string, string> = {}) {
  const response = await world.chat({ max_tokens: 10, ...more }, { headers });
  expect(response.status).toBe(200);
  return (await response.json()) as { id: string; bounds: [{ cost: { usd: number } }] };
}

const bound = async (more: object) => (await ask(more, { 'x-service-dry-run': 'true' })).bounds[0].cost.usd * 1e9;

it('bills in full an answer of ten tokens after 8,000 of reasoning', async () => {
  const usage = {
    ...{ prompt_tokens: 12, completion_tokens: 10, total_tokens: 8_022 },
    completion_tokens_details: { reasoning_tokens: 8_000 },
  };
  world.stub.next = [{ tokens: ['Yes'], usage }];
  const { id } = await ask({ reasoning_effort: 'low' });
  expect((await world.entryOf(id))?.amountNano).toBe(12n * 1_000n + 8_010n * 2_000n);
});

it('holds an amount for reasoning, unless the request or the service has none beside the answer', async () => {
  const plain = await bound({ reasoning: { enabled: false } });
  expect(await bound({ reasoning: { enabled: true } })).toBeGreaterThan(plain + 8_000 * 2_000);
  expect(await bound({ model: 'gpt-second' })).toBe(plain);
});

it.each([
  ['https://api.x.ai/v1', undefined, true],
  ['https://api.x.ai/v1', false, false],
  ['https://llm.example/v1', undefined, false],
  ['https://llm.example/api.x.ai/', undefined, false],
  ['https://llm.example/v1', true, true],
])('a service at %s with the setting %s counts reasoning beside: %s', (baseUrl, setting, expected) => {
  const grok: OpenAiSettings = {
    kind: 'openai',
    baseUrl,
    ...(setting === undefined ? {} : { reasoningBeside: setting }),
  };
  expect(textFeaturesOf(configured({ grok }), { provider: 'grok' }).reasoningBeside).toBe(expected);
});
