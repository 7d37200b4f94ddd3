/** Properties of a text service that follow from its address. */
import { expect, it } from 'vitest';
import type { OpenAiSettings, ProviderSettings } from '../../domain/providerSettings.ts';
import { textFeaturesOf } from '../../domain/textAddresses.ts';

const shows = (settings: ProviderSettings) =>
  textFeaturesOf({ llm: settings }, { provider: 'llm' }).showsReasoning;

it.each<[Partial<OpenAiSettings>, boolean]>([
  [{}, false],
  [{ baseUrl: 'https://api.openai.com/v1' }, false],
  [{ baseUrl: 'https://api.x.ai/v1' }, false],
  [{ baseUrl: 'https://openrouter.ai/api/v1' }, false],
  [{ baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai' }, false],
  [{ baseUrl: 'https://house.openai.azure.com/openai/v1' }, false],
  [{ baseUrl: 'https://proxy.example/v1', dialect: 'openai' }, false],
  [{ baseUrl: 'https://proxy.example/v1', showsReasoning: false }, false],
  [{ baseUrl: 'https://proxy.example/v1', dialect: 'openai', showsReasoning: true }, true],
  [{ baseUrl: 'https://api.deepseek.com/v1' }, true],
  [{ baseUrl: 'http://vllm:8000/v1' }, true],
  [{ baseUrl: 'http://127.0.0.1:11434/v1', dialect: 'ollama' }, true],
  [{ upstreams: [{ baseUrl: 'http://vllm:8000/v1' }, { baseUrl: 'https://api.x.ai/v1' }] }, false],
  [{ upstreams: [{ baseUrl: 'http://vllm:8000/v1' }, { baseUrl: 'http://vllm2:8000/v1' }] }, true],
])('an entry %j sends all reasoning: %s', (settings, expected) => {
  expect(shows({ kind: 'openai', ...settings })).toBe(expected);
});

it('an entry of kind anthropic sends a summary of the reasoning', () => {
  expect(shows({ kind: 'anthropic' })).toBe(false);
});
