/** The model of a trait (MODEL-16). */
import { describe, expect, it } from 'vitest';
import { BUILT_IN_MODELS, createCatalogue, mergeModels } from '../../../domain/catalogue/catalogue.ts';
import type { Model, ModelType, TextModel } from '../../../domain/catalogue/model.ts';
import { placeModels } from '../../../domain/catalogue/placeModels.ts';
import type { ModelSurroundings } from '../../../domain/modelAccess.ts';
import type { ProviderSettings } from '../../../domain/providerSettings.ts';
import { configuredProviders } from '../../../infra/config/configuredProviders.ts';
import { PROVIDERS } from '../../../providers/registry.ts';

interface Machine {
  /** Provider entries, all with keys. */
  entries?: Record<string, ProviderSettings>;
  models?: Model[];
  programs?: Partial<ModelSurroundings>;
}

function traitsOn({ entries = {}, models = [], programs = {} }: Machine, type: ModelType): Record<string, string> {
  const hasKey = (name: string) => Object.values(entries).some(({ kind }) => name === KEYS[kind]);
  const secret = (name: string) => (hasKey(name) ? 'key' : undefined);
  const surroundings = { ...configuredProviders(PROVIDERS, entries), ...programs, secret };
  const { traits } = createCatalogue(placeModels(mergeModels(models), surroundings), surroundings);
  return Object.fromEntries(traits[type]);
}

const KEYS: Record<string, string | undefined> = Object.fromEntries(
  PROVIDERS.map(({ kind, keyVariable }) => [kind, keyVariable]),
);
const OPENAI = { openai: { kind: 'openai' } };
const LLM = { llm: { kind: 'openai', baseUrl: 'http://10.0.0.7:8000/v1' } };

const pattern = BUILT_IN_MODELS.find((model): model is TextModel => model.kind === 'text');
if (pattern === undefined) throw new Error('no text model');
function own(id: string, traits: readonly string[], more: Partial<TextModel> = {}): Model {
  return { ...pattern, id, provider: 'llm', upstreamModel: id, listing: { traits }, ...more } as Model;
}

describe('a trait of an offline model', () => {
  it.each<[string, Machine, ModelType, string, string]>([
    ['moves to a model of the service with a key', { entries: OPENAI }, 'text', 'default', 'openai-gpt-52'],
    ['of another service too', { entries: { anthropic: { kind: 'anthropic' } } }, 'text', 'default', 'claude-sonnet-5'],
    ['stays where it is online', { entries: { fal: { kind: 'fal' } } }, 'image', 'default', 'z-image-turbo'],
    ['moves to another picture model', { entries: OPENAI }, 'image', 'default', 'gpt-image-2'],
    ['moves to another edit model', { entries: OPENAI }, 'inpaint', 'default', 'gpt-image-1-5-edit'],
    ['of edits moves to fal', { entries: { fal: { kind: 'fal' } } }, 'inpaint', 'default', 'flux-2-max-edit'],
    ['moves to a program of this machine', {}, 'inpaint', 'default', 'local-edit'],
    ['of speech too', { programs: { espeakPath: 'espeak-ng' } }, 'tts', 'default', 'local-speech-sync'],
    ['of transcripts too', { programs: { recogniser: {} } }, 'asr', 'default', 'local-transcribe'],
    ['moves to a simulation when nothing else runs', {}, 'text', 'default', 'simulator-text'],
    ['of pictures too, which no cutout makes', {}, 'image', 'default', 'simulator-image'],
    ['stays when nothing runs at all', {}, 'tts', 'default', 'tts-kokoro'],
    [
      'moves to a model that can see only',
      { entries: OPENAI },
      'text',
      'default_vision',
      'openai-gpt-4o-mini-2024-07-18',
    ],
    ['moves to a model that reasons only', { entries: OPENAI }, 'text', 'default_reasoning', 'openai-gpt-52'],
    ['stays when no online model can call functions', {}, 'text', 'function_calling_default', 'zai-org-glm-5-2'],
    ['stays when it compares models', { entries: OPENAI }, 'text', 'most_intelligent', 'grok-4-6'],
  ])('%s', (_where, machine, type, trait, id) => {
    expect(traitsOn(machine, type)[trait]).toBe(id);
  });

  it('moves to a model of the operator before a simulation', () => {
    expect(traitsOn({ entries: LLM, models: [own('mine', [])] }, 'text').default).toBe('mine');
  });

  it('does not move to a model that will be removed', () => {
    const deprecation = { autoRemap: false, date: '2026-01-01', removesAt: '2999-01-01' };
    const leaving = own('leaving', [], { listing: { deprecation } });
    expect(traitsOn({ entries: LLM, models: [leaving] }, 'text').default).toBe('simulator-text');
  });
});

describe('a trait that several models claim', () => {
  it('belongs to the last one', () => {
    const models = [own('first', ['default']), own('last', ['default'])];
    expect(traitsOn({ entries: LLM, models }, 'text').default).toBe('last');
  });

  it('belongs to the last one that is online', () => {
    const models = [own('first', ['default']), own('last', ['default'], { provider: 'nobody' })];
    expect(traitsOn({ entries: LLM, models }, 'text').default).toBe('first');
  });
});
