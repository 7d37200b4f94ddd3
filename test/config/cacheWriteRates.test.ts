/** Rates of cache writes that a configuration file omits. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { loadConfig } from '../../infra/config/config.ts';
import { PROVIDERS } from '../../providers/registry.ts';
import { COMPLETE } from './environments.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'farebox-cache-rates-'));
afterAll(() => rmSync(folder, { recursive: true }));

function load(content: object) {
  const file = path.join(folder, 'farebox.config.json');
  writeFileSync(file, JSON.stringify(content));
  return loadConfig(PROVIDERS, { ...COMPLETE, FAREBOX_CONFIG: file });
}

test('prices cache writes of a provider of kind anthropic if the entry does not', () => {
  const amount = (usd: number) => ({ usd, diem: usd });
  const entry = (id: string, provider: string, rates: object = {}) => ({
    ...{ id, type: 'text', provider, privacy: 'private' },
    spec: {
      ...{ name: id, availableContextTokens: 1_000 },
      pricing: { input: amount(3.000000001), output: amount(15), ...rates },
    },
  });
  const { modelCatalogue } = load({
    providers: {
      claude: { kind: 'anthropic' },
      other: { kind: 'openai', baseUrl: 'https://llm.example/v1' },
    },
    models: [
      entry('plain', 'claude'),
      entry('priced', 'claude', { cache_write: amount(4), cache_write_1h: amount(5) }),
      entry('other', 'other'),
    ],
  });
  const ratesOf = (id: string) => {
    const model = modelCatalogue.byId.get(id);
    if (model?.kind !== 'text') throw new Error(`no text model ${id}`);
    return [model.spec.pricing.cache_write, model.spec.pricing.cache_write_1h];
  };
  expect(ratesOf('plain')).toEqual([amount(3.750000002), amount(6.000000002)]);
  expect(ratesOf('priced')).toEqual([amount(4), amount(5)]);
  expect(ratesOf('other')).toEqual([undefined, undefined]);
});
