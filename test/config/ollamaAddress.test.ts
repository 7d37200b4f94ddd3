import { expect, test } from 'vitest';
import { loadConfig } from '../../infra/config/config.ts';
import { ollamaAddress } from '../../infra/config/ollamaAddress.ts';
import { PROVIDERS } from '../../providers/registry.ts';
import { COMPLETE } from './environments.ts';

test.each([
  ['', 'http://127.0.0.1:11434'],
  ['127.0.0.1', 'http://127.0.0.1:11434'],
  ['1.2.3.4', 'http://1.2.3.4:11434'],
  [':1234', 'http://127.0.0.1:1234'],
  ['1.2.3.4:1234', 'http://1.2.3.4:1234'],
  ['  example.com:1234 ', 'http://example.com:1234'],
  ['"127.0.0.1:1234"', 'http://127.0.0.1:1234'],
  ['http://1.2.3.4', 'http://1.2.3.4:80'],
  ['https://1.2.3.4', 'https://1.2.3.4:443'],
  ['https://example.com:8443/', 'https://example.com:8443'],
  ['http://example.com/behind/a/proxy/', 'http://example.com:80/behind/a/proxy'],
  ['0.0.0.0', 'http://127.0.0.1:11434'],
  ['0.0.0.0:8080', 'http://127.0.0.1:8080'],
  ['[::]:8080', 'http://[::1]:8080'],
  ['::1', 'http://[::1]:11434'],
  ['[::1]', 'http://[::1]:11434'],
  ['[::1]:1337', 'http://[::1]:1337'],
  ['example.com:66000', 'http://example.com:11434'],
  ['example.com:-1', 'http://example.com:11434'],
  ['https://example.com:port', 'https://example.com:443'],
  ['gopher://1.2.3.4', undefined],
  ['not a host', undefined],
  ['ollama.com', undefined],
  ['https://ollama.com', undefined],
  ['myollama.com', 'http://myollama.com:11434'],
])('resolves OLLAMA_HOST=%s to %s', (variable, address) => {
  expect(ollamaAddress(variable)).toBe(address);
});

test('searches an address only if OLLAMA_HOST names one', () => {
  expect(loadConfig(PROVIDERS, COMPLETE).ollamaAddress).toBeUndefined();
  expect(loadConfig(PROVIDERS, { ...COMPLETE, OLLAMA_HOST: ':1234' }).ollamaAddress).toBe('http://127.0.0.1:1234');
});

test('points the built-in entry to the address of OLLAMA_HOST', () => {
  expect(loadConfig(PROVIDERS, COMPLETE).providers.ollama).toMatchObject({
    baseUrl: 'http://127.0.0.1:11434/v1',
  });
  expect(loadConfig(PROVIDERS, { ...COMPLETE, OLLAMA_HOST: ':1234' }).providers.ollama).toMatchObject({
    ...{ kind: 'openai', baseUrl: 'http://127.0.0.1:1234/v1', allowPrivateNetwork: true },
  });
});
