/** Published models that a provider entry serves, and their names there (MODEL-15). */
import { describe, expect, it } from 'vitest';
import { BUILT_IN_MODELS } from '../../domain/catalogue/catalogue.ts';
import type { Model } from '../../domain/catalogue/model.ts';
import { placeModels } from '../../domain/catalogue/placeModels.ts';
import { isOffline, offlineReason } from '../../domain/modelAccess.ts';
import type { ProviderSettings } from '../../domain/providerSettings.ts';
import { configured, PROVIDER_KINDS } from './configured.ts';
import { SERVED } from './publishedModels.ts';

type Entries = Record<string, ProviderSettings>;

/** Published models with the names that they get, and their entries. Models of this machine are left out. */
function placed(entries: Entries): Model[] {
  const hosted = BUILT_IN_MODELS.filter((model) => model.upstreamModel === undefined);
  return placeModels(hosted, configured(entries));
}

function namesAt(entries: Entries, entry: string): Record<string, string> {
  const found = placed(entries).filter((model) => model.provider === entry && model.upstreamModel !== undefined);
  return Object.fromEntries(found.map(({ id, upstreamModel = '' }) => [id, upstreamModel]));
}

function reasonOf(id: string, entries: Entries, keys: readonly string[] = []): string | undefined {
  const model = placed(entries).find((each) => each.id === id);
  if (model === undefined) throw new Error(`${id} is not published`);
  return offlineReason(model, configured(entries, { secret: (name) => (keys.includes(name) ? 'key' : undefined) }));
}

describe.each(Object.entries(SERVED))('an entry of the kind %s', (kind, served) => {
  it('serves the published models that the service has, under its names', () => {
    expect(namesAt({ [kind]: { kind } }, kind)).toEqual(served);
  });

  it('names published models of its own entry, of kinds that it serves', () => {
    const byId = new Map(BUILT_IN_MODELS.map((model) => [model.id, model]));
    for (const id of Object.keys(served)) {
      const model = byId.get(id);
      expect([id, model?.provider]).toEqual([id, kind]);
      expect(PROVIDER_KINDS.get(kind)?.serves).toContain(model?.kind);
    }
  });

  it('brings no other model online with its key', () => {
    const keyVariable = PROVIDER_KINDS.get(kind)?.keyVariable;
    const entries = { [kind]: { kind } };
    const surroundings = configured(entries, { secret: (name) => (name === keyVariable ? 'key' : undefined) });
    const online = placed(entries).filter((model) => !isOffline(model, surroundings));
    expect(online.length).toBeGreaterThan(0);
    for (const model of online) expect(Object.entries(served)).toContainEqual([model.id, model.upstreamModel]);
  });
});

it('no other kind of provider knows published models', () => {
  for (const [kind, { publishedModels }] of PROVIDER_KINDS) {
    expect([kind, publishedModels !== undefined]).toEqual([kind, kind in SERVED]);
  }
});

describe('an entry with the API of OpenAI serves the models of OpenAI', () => {
  const own = 'https://api.openai.com/v1';
  const other = 'https://llm.example/v1';
  it.each<[string, Omit<ProviderSettings & { dialect?: string }, 'kind'>, boolean]>([
    ['at the published address', {}, true],
    ["at OpenAI's address", { baseUrl: own }, true],
    ['not at another address', { baseUrl: other }, false],
    ['behind a gateway, if the dialect says so', { baseUrl: other, dialect: 'openai' }, true],
    ['not with the dialect of another server', { baseUrl: other, dialect: 'ollama' }, false],
    ['at several of its addresses', { upstreams: [{ baseUrl: own }, { baseUrl: own }] }, true],
    ['not if one address is of another service', { upstreams: [{ baseUrl: own }, { baseUrl: other }] }, false],
  ])('%s', (_where, settings, serves) => {
    expect(namesAt({ openai: { kind: 'openai', ...settings } }, 'openai')).toEqual(serves ? SERVED.openai : {});
  });
});

describe('the mapping of an operator', () => {
  const llama = { 'llama-3.3-70b': 'meta-llama/Llama-3.3-70B-Instruct' };
  const vllm = { kind: 'openai', baseUrl: 'http://10.0.0.7:8000/v1', publishedModels: llama };

  it('places a published model at an entry of any name, under its name there', () => {
    expect(namesAt({ vllm }, 'vllm')).toEqual(llama);
    expect(reasonOf('llama-3.3-70b', { vllm })).toBeUndefined();
    expect(reasonOf('llama-3.2-3b', { vllm })).toContain('no provider is known to serve it');
  });

  it('comes before the names that are known of a service', () => {
    const mine = { kind: 'anthropic', publishedModels: { 'claude-opus-5': 'claude-opus-5-internal' } };
    const found = placed({ anthropic: { kind: 'anthropic' }, mine }).find(({ id }) => id === 'claude-opus-5');
    expect([found?.provider, found?.upstreamModel]).toEqual(['mine', 'claude-opus-5-internal']);
    const renamed = { openai: { kind: 'openai', publishedModels: { 'openai-gpt-52': 'my-deployment' } } };
    expect(namesAt(renamed, 'openai')).toEqual({ ...SERVED.openai, 'openai-gpt-52': 'my-deployment' });
  });

  it('brings nothing online without the key of its entry', () => {
    const keyed = { ...vllm, apiKeyEnv: 'VLLM_KEY' };
    expect(reasonOf('llama-3.3-70b', { keyed })).toBe('its provider "keyed" is not configured');
    expect(reasonOf('llama-3.3-70b', { keyed }, ['VLLM_KEY'])).toBeUndefined();
  });
});

it('a model that its service has is offline for want of the provider, not of a name', () => {
  expect(reasonOf('claude-opus-5', {})).toBe('its provider "anthropic" is not configured');
  expect(reasonOf('kimi-k3', { openai: { kind: 'openai' } }, ['OPENAI_API_KEY'])).toContain('the operator must map it');
});
