/** Models that a configuration brings online, and models that a key may call. */
import { describe, expect, it } from 'vitest';
import { BUILT_IN_MODELS } from '../../domain/catalogue/catalogue.ts';
import type { Model, ModelKind } from '../../domain/catalogue/model.ts';
import { forbiddenReason, offlineReason, providersOf } from '../../domain/modelAccess.ts';
import type { LocalPrograms } from '../../domain/providerKind.ts';
import type { ProviderSettings } from '../../domain/providerSettings.ts';
import { configured, PROVIDER_KINDS } from '../providers/configured.ts';

const KINDS: ModelKind[] = [...new Set(BUILT_IN_MODELS.map(({ kind }) => kind))];

function isSold(model: Model): boolean {
  if (model.listing?.offline === true) return false;
  if (model.kind === 'video') return model.price !== undefined;
  return model.kind !== 'inpaint' || model.spec.pricing !== undefined;
}

function modelOf(kind: ModelKind, more: Partial<Model> = {}): Model {
  const found = BUILT_IN_MODELS.find((model) => model.kind === kind && isSold(model));
  if (!found) throw new Error(`no model of kind ${kind}`);
  return { ...found, provider: 'mine', upstreamModel: 'name-there', ...more } as Model;
}

/** Reason for a single entry, with these variables and programs present. */
function reasonOf(
  model: Model,
  settings: ProviderSettings,
  { secrets = [], programs = {} }: { secrets?: readonly string[]; programs?: LocalPrograms } = {},
): string | undefined {
  const secret = (name: string) => (secrets.includes(name) ? 'key' : undefined);
  return offlineReason(model, configured({ mine: settings }, { secret, ...programs }));
}

const MISSING = 'its provider "mine" is not configured';

describe('the model kinds', () => {
  it('each have a provider', () => {
    expect(KINDS.length).toBe(11);
    for (const kind of KINDS) expect(providersOf(PROVIDER_KINDS.values(), kind)).not.toEqual([]);
  });

  it.each([
    ['voice-changer', ['local', 'simulator', 'elevenlabs']],
    ['text', ['simulator', 'openai', 'anthropic']],
    ['embedding', ['local', 'openai']],
    ['decision', ['simulator', 'openai', 'anthropic']],
    ['video', ['local', 'simulator', 'fal', 'replicate']],
    ['upscale', ['local', 'fal', 'replicate']],
  ] as [ModelKind, string[]][])('%s is served by exactly %j', (kind, providers) => {
    expect(providersOf(PROVIDER_KINDS.values(), kind)).toEqual(providers);
    for (const provider of providers) expect(PROVIDER_KINDS.get(provider)?.serves).toContain(kind);
  });
});

describe('a model of a text service is online', () => {
  const text = modelOf('text');
  const own = 'https://llm.example/v1';

  it.each<[string, ProviderSettings, string[], boolean]>([
    ['with the key for OpenAI, where no address is named', { kind: 'openai' }, ['OPENAI_API_KEY'], true],
    ['not without that key', { kind: 'openai' }, ['ANTHROPIC_API_KEY'], false],
    ['with an address of its own, which needs no key', { kind: 'openai', baseUrl: own }, [], true],
    [
      'not with a key that it names and that is not set',
      { kind: 'openai', baseUrl: own, apiKeyEnv: 'OWN' },
      ['OPENAI_API_KEY'],
      false,
    ],
    ['with a key that it names', { kind: 'openai', baseUrl: own, apiKeyEnv: 'OWN' }, ['OWN'], true],
    ['with the key for Anthropic', { kind: 'anthropic' }, ['ANTHROPIC_API_KEY'], true],
    ['not without it, whatever its address', { kind: 'anthropic', baseUrl: own }, ['OPENAI_API_KEY'], false],
    [
      'with the key of one of its addresses',
      {
        kind: 'openai',
        upstreams: [
          { baseUrl: own, apiKeyEnv: 'A' },
          { baseUrl: own, apiKeyEnv: 'B' },
        ],
      },
      ['B'],
      true,
    ],
    [
      'not with the key of none of them',
      {
        kind: 'openai',
        upstreams: [
          { baseUrl: own, apiKeyEnv: 'A' },
          { baseUrl: own, apiKeyEnv: 'B' },
        ],
      },
      ['OPENAI_API_KEY'],
      false,
    ],
    [
      'with an address beside them that needs no key',
      { kind: 'openai', upstreams: [{ baseUrl: own, apiKeyEnv: 'A' }, { baseUrl: own }] },
      [],
      true,
    ],
    ['not with addresses of which there are none', { kind: 'openai', upstreams: [] }, ['OPENAI_API_KEY'], false],
  ])('%s', (_when, settings, secrets, isOnline) => {
    expect(reasonOf(text, settings, { secrets })).toBe(isOnline ? undefined : MISSING);
  });
});

describe('a model is offline', () => {
  const ALL_KEYS = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'ELEVENLABS_API_KEY', 'REPLICATE_API_TOKEN', 'FAL_KEY'];
  const ALL_PROGRAMS = { espeakPath: 'espeak-ng', recogniser: {} };
  const simulator: ProviderSettings = {
    ...{ kind: 'simulator', models: {}, latencyMs: 0, outcome: 'done', faults: [] },
    ...{ lookup: true, synchronous: false },
  };

  it.each(KINDS)('if its provider serves no %s', (kind) => {
    const all: ProviderSettings[] = [
      { kind: 'local' },
      simulator,
      ...(['elevenlabs', 'openai', 'anthropic', 'fal', 'replicate'] as const).map((each) => ({ kind: each })),
    ];
    for (const settings of all) {
      const reason = reasonOf(modelOf(kind), settings, { secrets: ALL_KEYS, programs: ALL_PROGRAMS });
      if (!PROVIDER_KINDS.get(settings.kind)?.serves.includes(kind))
        expect(reason).toBe('this release does not serve such models');
      else expect(reason).toBeUndefined();
    }
  });

  it('if it has no price, before its provider is checked', () => {
    const inpaint = modelOf('inpaint');
    if (inpaint.kind !== 'inpaint') throw new Error('no inpaint model');
    const { pricing: _, ...spec } = inpaint.spec;
    expect(offlineReason({ ...inpaint, spec }, configured({}))).toBe('it has no price');
    const { price: __, ...video } = modelOf('video') as Extract<Model, { kind: 'video' }>;
    expect(offlineReason(video, configured({}))).toBe('it has no price');
  });

  it('if no provider is known to serve it, before its provider is checked', () => {
    const { upstreamModel: _, ...unplaced } = modelOf('text');
    expect(offlineReason(unplaced, configured({}))).toContain('no provider is known to serve it');
  });

  it.each<[ModelKind, LocalPrograms | undefined, string]>([
    ['music', { espeakPath: 'espeak-ng' }, 'ESPEAK_PATH'],
    ['tts', { espeakPath: 'espeak-ng' }, 'ESPEAK_PATH'],
    ['asr', { recogniser: {} }, 'POCKETSPHINX_PATH'],
    ['embedding', undefined, ''],
    ['voice-changer', undefined, ''],
  ])('if it is local and %s needs a missing program (%j)', (kind, programs, variable) => {
    const reason = reasonOf(modelOf(kind), { kind: 'local' });
    if (programs === undefined) expect(reason).toBeUndefined();
    else {
      expect(reason).toContain(variable);
      expect(reasonOf(modelOf(kind), { kind: 'local' }, { programs })).toBeUndefined();
    }
  });
});

describe('the reason why a key may not call a model', () => {
  const anonymized = (kind: ModelKind) => modelOf(kind, { id: 'some-model', privacy: 'anonymized' });

  it.each([
    ['of other models', anonymized('image'), { models: ['another'], modelPrivacy: 'ALL' }, 'other models only'],
    ['of no models', anonymized('image'), { models: [], modelPrivacy: 'ALL' }, 'other models only'],
    ['of private texts', anonymized('text'), { models: null, modelPrivacy: 'PRIVATE_TEXT' }, '(PRIVATE_TEXT)'],
    ['of private models', anonymized('image'), { models: null, modelPrivacy: 'PRIVATE_ONLY' }, '(PRIVATE_ONLY)'],
    [
      'of this model, as far as it is private',
      anonymized('text'),
      { models: ['some-model'], modelPrivacy: 'PRIVATE_ONLY' },
      '(PRIVATE_ONLY)',
    ],
  ] as const)('is stated for a key %s', (_which, model, permission, words) => {
    const message = forbiddenReason(model, permission);
    expect(message).toContain(words);
    expect(message).toContain('some-model');
  });

  it.each([
    [anonymized('image'), { models: null, modelPrivacy: 'PRIVATE_TEXT' }],
    [anonymized('text'), { models: ['some-model'], modelPrivacy: 'ALL' }],
    [
      { ...anonymized('text'), privacy: 'private' },
      { models: null, modelPrivacy: 'PRIVATE_ONLY' },
    ],
  ] as const)('is undefined when the key may call it (%#)', (model, permission) => {
    expect(forbiddenReason(model, permission)).toBeUndefined();
  });
});
