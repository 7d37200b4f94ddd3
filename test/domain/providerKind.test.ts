/** Keys that are sent to the addresses of an entry. */
import { describe, expect, it } from 'vitest';
import { addressesOf, findProvider } from '../../domain/providerKind.ts';
import type { ProviderSettings } from '../../domain/providerSettings.ts';
import { isOpenAiItself } from '../../providers/openai/textFeatures.ts';
import { configured } from '../providers/configured.ts';

function keyVariablesOf(settings: ProviderSettings): (string | undefined)[] {
  const entry = findProvider(configured({ llm: settings }), 'llm');
  if (entry === undefined) throw new Error(`no kind ${settings.kind}`);
  return addressesOf(entry).map(({ keyVariable }) => keyVariable);
}

describe('the key that is sent to a text service', () => {
  it.each<[string, ProviderSettings, (string | undefined)[]]>([
    ['that is OpenAI itself', { kind: 'openai' }, ['OPENAI_API_KEY']],
    ['at the address of OpenAI', { kind: 'openai', baseUrl: 'https://api.openai.com/v1' }, ['OPENAI_API_KEY']],
    ['at a region of OpenAI', { kind: 'openai', baseUrl: 'https://eu.api.openai.com' }, ['OPENAI_API_KEY']],
    ['with a port', { kind: 'openai', baseUrl: 'https://API.OpenAI.com:443/v1' }, ['OPENAI_API_KEY']],
    ['of somebody else', { kind: 'openai', baseUrl: 'http://vllm:8000/v1' }, [undefined]],
    ['that names its key', { kind: 'openai', baseUrl: 'http://vllm:8000', apiKeyEnv: 'OWN' }, ['OWN']],
    ['that is Anthropic', { kind: 'anthropic' }, ['ANTHROPIC_API_KEY']],
    ['that speaks like Anthropic', { kind: 'anthropic', baseUrl: 'https://proxy.test' }, ['ANTHROPIC_API_KEY']],
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
    expect(keyVariablesOf(settings)).toEqual(variables);
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
    expect(keyVariablesOf({ kind: 'openai', baseUrl })).toEqual([undefined]);
  });
});
