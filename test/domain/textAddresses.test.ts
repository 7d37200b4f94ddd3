/** Properties of a text service that follow from its address. */
import { describe, expect, it } from 'vitest';
import type { OpenAiSettings, ProviderSettings } from '../../domain/providerSettings.ts';
import {
  addressesOf,
  isOpenAiItself,
  keyVariableOf,
  type TextSettings,
  textFeaturesOf,
} from '../../domain/textAddresses.ts';

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

describe('the key that goes to a text service', () => {
  it.each<[string, TextSettings, (string | undefined)[]]>([
    ['that is OpenAI itself', { kind: 'openai' }, ['OPENAI_API_KEY']],
    [
      'at the address of OpenAI',
      { kind: 'openai', baseUrl: 'https://api.openai.com/v1' },
      ['OPENAI_API_KEY'],
    ],
    ['at a region of OpenAI', { kind: 'openai', baseUrl: 'https://eu.api.openai.com' }, ['OPENAI_API_KEY']],
    ['with a port', { kind: 'openai', baseUrl: 'https://API.OpenAI.com:443/v1' }, ['OPENAI_API_KEY']],
    ['of somebody else', { kind: 'openai', baseUrl: 'http://vllm:8000/v1' }, [undefined]],
    ['that names its key', { kind: 'openai', baseUrl: 'http://vllm:8000', apiKeyEnv: 'OWN' }, ['OWN']],
    ['that is Anthropic', { kind: 'anthropic' }, ['ANTHROPIC_API_KEY']],
    [
      'that speaks like Anthropic',
      { kind: 'anthropic', baseUrl: 'https://proxy.test' },
      ['ANTHROPIC_API_KEY'],
    ],
    [
      'of several addresses',
      {
        kind: 'openai',
        upstreams: [
          { baseUrl: 'https://api.openai.com' },
          { baseUrl: 'http://a' },
          { baseUrl: 'http://b', apiKeyEnv: 'B' },
        ],
      },
      ['OPENAI_API_KEY', undefined, 'B'],
    ],
    [
      'of several addresses with one key',
      {
        kind: 'openai',
        apiKeyEnv: 'OWN',
        upstreams: [{ baseUrl: 'http://a' }, { baseUrl: 'http://b', apiKeyEnv: 'B' }],
      },
      ['OWN', 'B'],
    ],
  ])('%s', (_which, settings, variables) => {
    expect(addressesOf(settings).map((address) => keyVariableOf(settings, address))).toEqual(variables);
  });

  it.each([
    'https://api.openai.com.evil.test/v1',
    'https://evil.test/api.openai.com',
    'https://evil.test/?api.openai.com',
    'https://api.openai.com@evil.test/v1',
    'https://evil.test#api.openai.com',
    'https://notapi-openai.com/v1',
    'https://xapi.openai.com/v1',
    'https://openai.com/v1',
    'ftp://api.openai.com/v1',
    ' https://api.openai.com.',
  ])('is none for %s', (baseUrl) => {
    expect(isOpenAiItself(baseUrl)).toBe(false);
    expect(keyVariableOf({ kind: 'openai', baseUrl }, { baseUrl })).toBeUndefined();
  });
});

describe('what a text service can beyond answering', () => {
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
    expect(textFeaturesOf({ llm: settings }, { provider: 'llm' })).toEqual({ ...NOTHING, ...features });
  });

  it.each(['nobody', 'constructor', '__proto__', 'toString'])('is nothing for the entry %s', (provider) => {
    expect(textFeaturesOf({ llm: { kind: 'openai', e2ee: true } }, { provider })).toEqual(NOTHING);
  });
});
