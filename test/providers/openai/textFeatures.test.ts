/** Properties of a text service that follow from its settings and its address. */
import { describe, expect, it } from 'vitest';
import { textFeaturesOf } from '../../../domain/providerKind.ts';
import type { ProviderSettings } from '../../../domain/providerSettings.ts';
import type { OpenAiSettings } from '../../../providers/openai/settings.ts';
import { configured } from '../configured.ts';

const shows = (settings: ProviderSettings) =>
  textFeaturesOf(configured({ llm: settings }), { provider: 'llm' }).showsReasoning;

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
])('tells whether an entry %j sends all reasoning: %s', (settings, expected) => {
  expect(shows({ kind: 'openai', ...settings })).toBe(expected);
});

it('tells that an entry of kind anthropic sends a summary of the reasoning', () => {
  expect(shows({ kind: 'anthropic' })).toBe(false);
});

describe('additional features of a text service', () => {
  const NOTHING = { xSearch: false, e2ee: false, reasoningBeside: false, showsReasoning: false };

  it.each<[string, OpenAiSettings, Partial<typeof NOTHING>]>([
    [
      'xAI counts reasoning beside the answer',
      { kind: 'openai', baseUrl: 'https://api.x.ai/v1' },
      { reasoningBeside: true },
    ],
    [
      'an entry may say that it does not',
      { kind: 'openai', baseUrl: 'https://api.x.ai/v1', reasoningBeside: false },
      {},
    ],
    [
      'one address of xAI is enough',
      {
        kind: 'openai',
        upstreams: [{ baseUrl: 'https://api.openai.com' }, { baseUrl: 'https://eu.api.x.ai' }],
      },
      { reasoningBeside: true },
    ],
    ['a search on X is as configured', { kind: 'openai', xSearch: 'tool' }, { xSearch: true }],
    ['encryption is as configured', { kind: 'openai', e2ee: true }, { e2ee: true }],
  ])('%s', (_what, settings, features) => {
    expect(textFeaturesOf(configured({ llm: settings }), { provider: 'llm' })).toEqual({
      ...NOTHING,
      ...features,
    });
  });

  it.each(['nobody', 'constructor', '__proto__', 'toString'])('are empty for the unknown entry %s', (provider) => {
    const llm: OpenAiSettings = { kind: 'openai', e2ee: true };
    expect(textFeaturesOf(configured({ llm }), { provider })).toEqual(NOTHING);
  });
});
