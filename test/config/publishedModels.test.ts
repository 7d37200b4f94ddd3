/** `publishedModels` of a provider entry: what the configuration refuses, and what it brings online. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isOffline } from '../../domain/modelAccess.ts';
import { type Config, loadConfig } from '../../infra/config/config.ts';
import { checkConfiguration } from '../../infra/config/readFile.ts';
import { PROVIDERS } from '../../providers/registry.ts';
import { COMPLETE, messageOf } from './environments.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'farebox-mapping-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function load(content: object): Config {
  const file = path.join(folder, 'farebox.config.json');
  writeFileSync(file, JSON.stringify(content));
  return loadConfig(PROVIDERS, { ...COMPLETE, FAREBOX_CONFIG: file });
}

const vllm = (publishedModels: object) => ({ kind: 'openai', baseUrl: 'https://llm.example/v1', publishedModels });
const LLAMA = { 'llama-3.3-70b': 'llama3.3:70b' };

describe('a mapping of a published model', () => {
  test('brings it online at its entry, with its published price', () => {
    const config = load({ providers: { vllm: vllm(LLAMA) } });
    const model = config.modelCatalogue.byId.get('llama-3.3-70b');
    if (model?.kind !== 'text') throw new Error('no text model');
    expect([model.provider, model.upstreamModel]).toEqual(['vllm', 'llama3.3:70b']);
    expect(model.spec.pricing.input).toEqual({ usd: 0.7, diem: 0.7 });
    expect(isOffline(model, config)).toBe(false);
    expect(config.modelCatalogue.traits.text.get('default')).toBe('llama-3.3-70b');
  });

  test.each<[string, object, string]>([
    [
      'of an unknown id',
      { providers: { vllm: vllm({ 'no-such-model': 'x' }) } },
      'providers.vllm.publishedModels.no-such-model: found another id, allowed: the id of a published model of a service',
    ],
    [
      'of a model of this machine',
      { providers: { vllm: vllm({ 'simulator-text': 'x' }) } },
      'allowed: the id of a published model of a service',
    ],
    [
      'of a kind that the provider does not serve',
      { providers: { vllm: vllm({ 'veo3.1-fast-text-to-video': 'x' }) } },
      'found a model of kind "video", allowed: text, embedding, decision, image, inpaint, asr, tts',
    ],
    [
      'of one model at two entries',
      { providers: { vllm: vllm(LLAMA), other: vllm(LLAMA) } },
      'providers.other.publishedModels["llama-3.3-70b"]: found a model that providers.vllm has already',
    ],
    [
      'of a model that the file replaces',
      {
        providers: { vllm: vllm({ 'jev-latest': 'judge' }) },
        models: [
          {
            ...{ id: 'jev-latest', type: 'decision', provider: 'simulator', privacy: 'private' },
            spec: { name: 'Judge', pricing: { input: { usd: 1, diem: 1 }, output: { usd: 0, diem: 0 } } },
          },
        ],
      },
      'found a model that `models` replaces',
    ],
    ['without a name', { providers: { vllm: vllm({ 'llama-3.3-70b': '' }) } }, 'providers.vllm.publishedModels'],
    ['of a local provider', { providers: { here: { kind: 'local', publishedModels: LLAMA } } }, 'an unknown key'],
  ])('is refused %s', (_which, content, message) => {
    expect(messageOf(() => checkConfiguration(PROVIDERS, content, 'file'))).toContain(message);
  });
});
