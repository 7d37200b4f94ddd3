import { describe, expect, it } from 'vitest';
import { LOCAL_SPEECH } from '../../domain/catalogue/builtin/offlineAudio.ts';
import { LOCAL_SPEECH_SYNC, LOCAL_TRANSCRIBE } from '../../domain/catalogue/builtin/offlineSpeech.ts';
import { BUILT_IN_MODELS, createCatalogue, mergeModels } from '../../domain/catalogue/catalogue.ts';
import { MODEL_TYPES, type Model } from '../../domain/catalogue/model.ts';
import { placeModels } from '../../domain/catalogue/placeModels.ts';
import { presentModel } from '../../domain/catalogue/presentModel.ts';
import { NOT_FOUND, resolveModel } from '../../domain/catalogue/resolveModel.ts';
import type { Deprecation } from '../../domain/catalogue/specs.ts';
import { LOCAL_VOICE_CHANGER } from '../../domain/catalogue/voiceChangers.ts';
import { isAllowed, isOffline, type ModelSurroundings, offlineReason } from '../../domain/modelAccess.ts';
import { nanoFromNumber, nanoToNumber } from '../../domain/money.ts';
import type { LocalPrograms } from '../../domain/providerKind.ts';
import type { ProviderSettings } from '../../domain/providerSettings.ts';
import { configuredProviders } from '../../infra/config/configuredProviders.ts';
import { PROVIDERS } from '../../providers/registry.ts';
import { PRICES, PRIVACY, TEXT_FACTS } from '../fixtures/publishedPrices.ts';

const CATALOGUE = createCatalogue(BUILT_IN_MODELS);

/** Ids of the built-in models that these surroundings bring online. */
function onlineIn(config: ModelSurroundings): string[] {
  return placeModels(BUILT_IN_MODELS, config).flatMap((model) => (isOffline(model, config) ? [] : [model.id]));
}
const NOW = '2026-10-05T12:00:00.000Z';

function pricingOf(id: string): unknown {
  const model = CATALOGUE.byId.get(id);
  if (!model) throw new Error(`${id} is not in the catalogue`);
  const shown = presentModel({ model, ownedBy: 'service', offline: true, traits: [], providers: {} });
  return (shown.model_spec as { pricing?: unknown }).pricing;
}

/** Every `{usd, diem}` price with its path. Asserts that diem equals usd, and returns usd. */
function leaves(value: unknown, path = ''): [string, number][] {
  if (typeof value !== 'object' || value === null) return [];
  if ('usd' in value && 'diem' in value) {
    expect(value.diem).toBe(value.usd);
    return [[path, Number(value.usd)]];
  }
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, path === '' ? key : `${path}.${key}`));
}

/** Local models: priced by us and published nowhere else. */
const ON_THIS_MACHINE = [
  'simulator-text',
  'local-lexical-embedding',
  'simulator-decision',
  'local-cutout',
  'local-edit',
  'local-upscale-image',
  'simulator-image',
  'local-speech',
  'simulator-music',
  'local-transcribe',
  'local-speech-sync',
  'local-video',
  'local-upscale',
];
const SPEECH = { espeakPath: 'espeak-ng' };
const HEARING = { recogniser: {} };

/** Built-in entries and those of a file, on a machine with these programs and keys. */
function surroundings(
  configured: Record<string, ProviderSettings>,
  programs: LocalPrograms,
  hasKey: (name: string) => boolean = () => false,
): ModelSurroundings {
  const secret = (name: string) => (hasKey(name) ? 'key' : undefined);
  return { ...configuredProviders(PROVIDERS, configured), ...programs, secret };
}

describe('the built-in catalogue', () => {
  it('has every id once, and every type', () => {
    const ids = BUILT_IN_MODELS.map((model) => model.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(BUILT_IN_MODELS.map((model) => model.type))).toEqual(new Set(MODEL_TYPES));
  });

  it.each(Object.entries(PRICES))('has the published price of %s, and no other', (id, published) => {
    expect(Object.fromEntries(leaves(pricingOf(id)))).toEqual(published);
  });

  it('has no prices but those of the published table and the voice changers', () => {
    const priced = BUILT_IN_MODELS.filter((model) => leaves(pricingOf(model.id)).length > 0);
    const known = new Set([
      ...Object.keys(PRICES),
      'local-voice-changer',
      'elevenlabs-voice-changer',
      ...ON_THIS_MACHINE,
    ]);
    expect(priced.map((model) => model.id).filter((id) => !known.has(id))).toEqual([]);
  });

  it('has every price in whole nano units', () => {
    for (const model of BUILT_IN_MODELS) {
      for (const [path, usd] of leaves(pricingOf(model.id))) {
        const nano = nanoFromNumber(usd);
        expect([model.id, path, nano === undefined ? undefined : nanoToNumber(nano)]).toEqual([model.id, path, usd]);
      }
    }
  });

  it.each(Object.entries(PRIVACY))('%s is %s', (id, privacy) => {
    expect(CATALOGUE.byId.get(id)?.privacy).toBe(privacy);
  });

  it.each(TEXT_FACTS)(
    '$id: has the published context, abilities and efforts',
    ({ id, context, able, quantization, efforts, effort }) => {
      const model = CATALOGUE.byId.get(id);
      if (model?.kind !== 'text') throw new Error(`${id} is no text model`);
      const shown = presentModel({ model, ownedBy: 'service', offline: true, traits: [], providers: {} });
      const { capabilities } = shown.model_spec as unknown as { capabilities: Record<string, unknown> };
      expect(shown.context_length).toBe(context);
      const flags = Object.entries(capabilities).filter(([, value]) => value === true);
      expect(flags.map(([flag]) => flag).sort()).toEqual([...able, 'supportsWebSearch'].sort());
      expect(capabilities.quantization).toBe(quantization);
      expect(capabilities.reasoningEffortOptions).toEqual(efforts);
      expect(capabilities.defaultReasoningEffort).toBe(effort);
    },
  );

  it('is offline with the built-in providers alone, except for local models', () => {
    const both = { ...SPEECH, ...HEARING };
    expect(onlineIn(surroundings({}, both))).toEqual(['local-voice-changer', ...ON_THIS_MACHINE]);
    expect(onlineIn(surroundings({}, both, () => true))).toEqual([
      ...['local-voice-changer', 'elevenlabs-voice-changer'],
      ...ON_THIS_MACHINE.slice(0, 3),
      ...['tts-elevenlabs-turbo-v2-5', 'elevenlabs/scribe-v2'],
      ...ON_THIS_MACHINE.slice(3, 7),
      ...['elevenlabs-tts-multilingual-v2', 'elevenlabs-music', 'elevenlabs-sound-effects-v2', 'elevenlabs-tts-v3'],
      ...ON_THIS_MACHINE.slice(7),
    ]);
  });

  it('speaks only when a synthesiser is configured, and otherwise names the missing setting', () => {
    const own = { mine: { kind: 'local' } };
    const reason = (configured: Record<string, ProviderSettings>, programs: LocalPrograms) =>
      offlineReason(
        LOCAL_SPEECH,
        surroundings(configured, programs, () => true),
      );
    expect(reason({}, {})).toContain('ESPEAK_PATH');
    expect(reason(own, {})).toContain('ESPEAK_PATH');
    expect(reason({}, SPEECH)).toBeUndefined();
    expect(offlineReason({ ...LOCAL_SPEECH, provider: 'mine' }, surroundings(own, SPEECH))).toBeUndefined();
    expect(offlineReason(LOCAL_VOICE_CHANGER, surroundings({}, {}))).toBeUndefined();
  });

  it('transcribes only with a recogniser, and speaks synchronously only with a synthesiser', () => {
    const reason = (model: Model, programs: LocalPrograms) => offlineReason(model, surroundings({}, programs));
    expect(reason(LOCAL_TRANSCRIBE, SPEECH)).toContain('POCKETSPHINX_PATH');
    expect(reason(LOCAL_TRANSCRIBE, HEARING)).toBeUndefined();
    expect(reason(LOCAL_SPEECH_SYNC, HEARING)).toContain('ESPEAK_PATH');
    expect(reason(LOCAL_SPEECH_SYNC, SPEECH)).toBeUndefined();
  });

  it('has the published traits, each for one model of its type', () => {
    expect(Object.fromEntries(CATALOGUE.traits.text)).toEqual({
      default: 'zai-org-glm-5-2',
      function_calling_default: 'zai-org-glm-5-2',
      default_reasoning: 'kimi-k3',
      default_code: 'deepseek-v4-pro-0813',
      default_vision: 'qwen-3-8-27b',
      most_intelligent: 'grok-4-6',
      most_uncensored: 'venice-uncensored-1-2',
    });
    expect(Object.fromEntries(CATALOGUE.traits.image)).toEqual({
      default: 'z-image-turbo',
      fastest: 'z-image-turbo',
      highest_quality: 'qwen-image',
      most_uncensored: 'lustify-v8',
      'eliza-default': 'venice-sd35',
    });
  });

  it('maps aliases to existing ids only', () => {
    expect(Object.fromEntries(CATALOGUE.compatibility.text)).toEqual({
      'gpt-4o': 'llama-3.3-70b',
      'gpt-4.1': 'qwen3-235b-a22b-instruct-2507',
      'claude-3-5-sonnet-20241022': 'llama-3.3-70b',
    });
    expect(Object.fromEntries(CATALOGUE.compatibility.embedding)).toEqual({
      'text-embedding-ada-002': 'text-embedding-bge-m3',
    });
    expect(CATALOGUE.compatibility.image.size).toBe(0);
  });
});

function voice(id: string, more: Partial<Model> = {}): Model {
  return { ...LOCAL_VOICE_CHANGER, id, ...more } as Model;
}

function deprecated(id: string, deprecation: Partial<Deprecation>): Model {
  const whole = { autoRemap: false, date: '2026-10-01', removesAt: '2026-10-20', ...deprecation };
  return voice(id, { listing: { deprecation: whole } });
}

describe('a name in a request', () => {
  const catalogue = createCatalogue(
    mergeModels([
      voice('first', { aliases: ['acme-voice'], listing: { traits: ['default'] } }),
      voice('second', { listing: { traits: ['default', 'quick'] } }),
      deprecated('going', { replacementModelId: 'first' }),
      deprecated('later', { startsAt: '2026-10-10' }),
      deprecated('gone', { removesAt: '2026-10-02', replacementModelId: 'first' }),
      deprecated('gone-alone', { removesAt: '2026-10-05' }),
      deprecated('moved', { removesAt: '2026-10-02', replacementModelId: 'first', autoRemap: true }),
      deprecated('astray', { removesAt: '2026-10-02', replacementModelId: 'nowhere', autoRemap: true }),
    ]),
  );
  const resolve = (name: string, type: Model['type'] = 'music') => resolveModel(catalogue, { name, type, now: NOW });

  it.each([
    ['first', 'music', 'first'],
    ['acme-voice', 'music', 'first'],
    ['default', 'music', 'second'],
    ['quick', 'music', 'second'],
    ['default', 'text', 'zai-org-glm-5-2'],
    ['default', 'image', 'z-image-turbo'],
    ['gpt-4o', 'text', 'llama-3.3-70b'],
    ['text-embedding-ada-002', 'embedding', 'text-embedding-bge-m3'],
    ['tts-kokoro', 'music', 'tts-kokoro'],
    ['later', 'music', 'later'],
  ] as const)('%s for the type %s resolves to %s', (name, type, id) => {
    expect(resolve(name, type)).toEqual({ ok: true, model: catalogue.byId.get(id) });
  });

  it('of a deprecated model resolves to it with the notice', () => {
    expect(resolve('going')).toMatchObject({
      ok: true,
      model: { id: 'going' },
      deprecated: { id: 'going', date: '2026-10-01', removesAt: '2026-10-20', replacement: 'first' },
    });
  });

  it('of a removed model resolves to its replacement only if the entry allows it', () => {
    expect(resolve('moved')).toMatchObject({ ok: true, model: { id: 'first' }, deprecated: { id: 'moved' } });
  });

  it.each([
    ['gone', `${NOT_FOUND}. The model gone has been deprecated. Please use first instead.`],
    ['gone-alone', `${NOT_FOUND}. The model gone-alone has been deprecated.`],
    ['astray', `${NOT_FOUND}. The model astray has been deprecated.`],
    ['e2ee-gemma-4-31b', `${NOT_FOUND}. The model e2ee-gemma-4-31b has been deprecated.`],
    ['local-voice-chnger', `${NOT_FOUND}. Did you mean local-voice-changer?`],
    ['Elevenlabs-Voice-Changer', `${NOT_FOUND}. Did you mean elevenlabs-voice-changer?`],
    ['gpt-4o', NOT_FOUND],
    ['no-such-model', NOT_FOUND],
    ['__proto__', NOT_FOUND],
    ['constructor', NOT_FOUND],
    ['', NOT_FOUND],
    ['x'.repeat(100_000), NOT_FOUND],
  ])('%.30s is refused with: %s', (name, message) => {
    expect(resolve(name)).toEqual({ ok: false, message });
  });
});

describe('a model is offline', () => {
  const providers = {
    own: { kind: 'elevenlabs', apiKeyEnv: 'OWN_KEY' },
    llm: { kind: 'openai' },
    hub: { kind: 'replicate' },
    ownHub: { kind: 'replicate', apiKeyEnv: 'OWN_KEY' },
    media: { kind: 'fal', apiKeyEnv: 'OWN_KEY' },
    fal: { kind: 'fal' },
  } as const;
  const video = { kind: 'video', type: 'video', spec: {} } as const;
  const priced = { ...video, price: { perSecond: {} } } as const;
  it.each<[string, Partial<Model>, string | undefined]>([
    ['never, when it runs here', {}, undefined],
    ['when its entry says so', { listing: { offline: true } }, 'it was taken offline'],
    ['without a provider', { provider: 'nobody' }, 'its provider "nobody" is not configured'],
    ['with a provider named like a property', { provider: 'constructor' }, 'its provider "constructor" is not'],
    ['without the key of its provider', { provider: 'elevenlabs' }, 'its provider "elevenlabs" is not configured'],
    ['not with the key that its provider names', { provider: 'own' }, undefined],
    ['with a provider of another kind', { provider: 'llm' }, 'this release does not serve such models'],
    ['without a price', video, 'it has no price'],
    ['without the usual key of its provider', { ...priced, provider: 'hub' }, 'is not configured'],
    ['not with a key of its own name', { ...priced, provider: 'ownHub' }, undefined],
    ['with the key of its provider unset', { ...priced, provider: 'fal' }, 'its provider "fal" is not configured'],
    ['not with a key of another name', { ...priced, provider: 'media' }, undefined],
    ['when nobody serves its kind', { ...priced, provider: 'llm' }, 'this release does not serve'],
  ])('%s', (_when, more, reason) => {
    const keyed = surroundings(providers, {}, (name) => name === 'OWN_KEY');
    const answer = offlineReason(voice('some', more), keyed);
    if (reason === undefined) expect(answer).toBeUndefined();
    else expect(answer).toContain(reason);
  });
});

describe('modelPrivacy', () => {
  const model = (type: Model['type'], privacy: Model['privacy']) => {
    const found = BUILT_IN_MODELS.find((entry) => entry.type === type);
    if (!found) throw new Error(`no model of type ${type}`);
    return { ...found, privacy };
  };
  it.each(MODEL_TYPES)('%s: allows private models always, and others by policy', (type) => {
    const asked = (privacy: Model['privacy']) =>
      (['ALL', 'PRIVATE_TEXT', 'PRIVATE_ONLY'] as const).map((policy) => isAllowed(model(type, privacy), policy));
    expect(asked('private')).toEqual([true, true, true]);
    const isText = ['text', 'embedding', 'decision'].includes(type);
    expect(asked('anonymized')).toEqual([true, !isText, false]);
  });
});

describe('a name with another spelling', () => {
  const now = '2026-11-01T00:00:00.000Z';

  it.each([
    ['qwen3.next_80b', 'qwen3-next-80b'],
    ['simulator text', 'simulator-text'],
    ['simulator_text', 'simulator-text'],
  ])('%s resolves to %s', (name, id) => {
    const found = resolveModel(CATALOGUE, { name, type: 'text', now });
    expect(found.ok && found.model.id).toBe(id);
  });

  it('is not resolved when two ids match', () => {
    const [model] = CATALOGUE.models;
    if (!model) throw new Error('no model');
    const two = createCatalogue([
      { ...model, id: 'a.b' },
      { ...model, id: 'a_b' },
    ]);
    expect(resolveModel(two, { name: 'a b', type: model.type, now }).ok).toBe(false);
    expect(resolveModel(two, { name: 'a_b', type: model.type, now }).ok).toBe(true);
  });
});
