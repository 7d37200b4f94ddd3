/** A model in `GET /models` (MODEL-1 to MODEL-3), member by member. */
import { describe, expect, it } from 'vitest';
import type { ImageModel, InpaintModel, Model, MusicModel, TextModel } from '../../../domain/catalogue/model.ts';
import { presentModel } from '../../../domain/catalogue/presentModel.ts';
import { CAPABILITY_FLAGS, type InpaintSpec, type MusicSpec } from '../../../domain/catalogue/specs.ts';
import { LOCAL_VOICE_CHANGER } from '../../../domain/catalogue/voiceChangers.ts';
import { video } from '../generation/models.ts';

const PRICE = { usd: 0.01, diem: 0.01 };
const BASE = {
  ...{ id: 'some', provider: 'house', upstreamModel: 'x', name: 'Some' },
  privacy: 'private',
  ...{ description: 'A model.', modelSource: 'https://example.com', created: 1_767_225_600 },
} as const;
const TEXT: TextModel = {
  ...BASE,
  ...{ kind: 'text', type: 'text' },
  spec: { availableContextTokens: 128_000, pricing: { input: PRICE, output: PRICE } },
};
const IMAGE: ImageModel = {
  ...BASE,
  ...{ kind: 'image', type: 'image' },
  spec: { pricing: { generation: PRICE } },
};

function shown(model: Model, more: Partial<Parameters<typeof presentModel>[0]> = {}) {
  return presentModel({ model, ownedBy: 'acme', offline: false, traits: [], providers: {}, ...more });
}

describe('every model', () => {
  it('shows its owner, its kind, and its published facts', () => {
    expect(shown(IMAGE, { offline: true, traits: ['fastest'] })).toEqual({
      ...{ id: 'some', object: 'model', created: 1_767_225_600, owned_by: 'acme', type: 'image' },
      model_spec: {
        ...{ name: 'Some', description: 'A model.', modelSource: 'https://example.com', privacy: 'private' },
        ...{ offline: true, traits: ['fastest'], pricing: { generation: PRICE } },
      },
    });
  });

  it('hides its provider, its upstream name, and its aliases', () => {
    const text = JSON.stringify(shown({ ...TEXT, aliases: ['alias'], size: 'L', mediaTokens: { perAudioSecond: 7 } }));
    for (const secret of ['house', 'upstreamModel', 'alias', '"L"', 'mediaTokens']) {
      expect(text).not.toContain(secret);
    }
  });

  it('omits members without a value', () => {
    const { model_spec: spec } = shown({ ...IMAGE, description: '', modelSource: '' });
    expect(spec).not.toHaveProperty('description');
    expect(spec).not.toHaveProperty('modelSource');
    expect(shown(IMAGE)).not.toHaveProperty('context_length');
    expect(shown(IMAGE)).not.toHaveProperty('discount_to_user');
  });

  it.each<[string, Model['listing'], object, string[]]>([
    ['nothing', {}, {}, ['beta', 'betaModel', 'uncensored', 'model_sets', 'regionRestrictions', 'deprecation']],
    ['that it is a trial', { beta: true, betaModel: false }, { beta: true, betaModel: false }, ['uncensored']],
    ['that it is uncensored', { uncensored: true }, { uncensored: true }, ['beta']],
    ['nothing of being censored', { uncensored: false }, {}, ['uncensored']],
    ['where it may be used', { regionRestrictions: ['EU'] }, { regionRestrictions: ['EU'] }, []],
    [
      'when it goes',
      { deprecation: { autoRemap: false, date: '2026-10-01', removesAt: '2026-10-20' } },
      { deprecation: { autoRemap: false, date: '2026-10-01', removesAt: '2026-10-20' } },
      [],
    ],
    ['its own switch, by no other name', { offline: true, traits: ['default'] }, { offline: false, traits: [] }, []],
  ])("shows the entry's %s", (_what, listing, members, absent) => {
    const { model_spec: spec } = shown({ ...IMAGE, ...(listing && { listing }) });
    expect(spec).toMatchObject(members);
    for (const name of absent) expect(spec).not.toHaveProperty(name);
  });

  it('shows its discount', () => {
    expect(shown({ ...IMAGE, discountToUser: 0.2 })).toMatchObject({ discount_to_user: 0.2 });
  });
});

describe('a text model', () => {
  it('shows its context twice, and every flag', () => {
    const entry = {
      ...TEXT.spec,
      capabilities: { supportsVision: true, quantization: 'fp8', maxImages: 4 },
    } as const;
    const found = shown({ ...TEXT, spec: entry });
    const flags = Object.fromEntries(CAPABILITY_FLAGS.map((flag) => [flag, flag === 'supportsVision']));
    expect(found).toMatchObject({ context_length: 128_000, model_spec: { availableContextTokens: 128_000 } });
    expect(found.model_spec).toMatchObject({ capabilities: { ...flags, quantization: 'fp8', maxImages: 4 } });
    expect(shown(TEXT).model_spec).toMatchObject({ capabilities: { quantization: 'not-available' } });
  });

  it.each([
    ['abort', undefined, {}],
    ['drain', undefined, { house: { kind: 'openai', onDisconnect: 'drain' } }],
    ['abort', 'abort', { house: { kind: 'openai', onDisconnect: 'drain' } }],
    ['drain', 'drain', { house: { kind: 'openai' } }],
    ['abort', undefined, { other: { kind: 'openai', onDisconnect: 'drain' } }],
  ] as const)('shows the behaviour of an abandoned stream: %s', (expected, own, providers) => {
    const model: TextModel = { ...TEXT, spec: { ...TEXT.spec, ...(own && { onDisconnect: own }) } };
    expect(shown(model, { providers }).model_spec).toMatchObject({ onDisconnect: expected });
  });
});

describe('an edit model', () => {
  const inpaint = (spec: Partial<InpaintSpec>): InpaintModel => ({
    ...BASE,
    ...{ kind: 'inpaint', type: 'inpaint' },
    spec: { pricing: { inpaint: PRICE }, ...spec },
  });

  it.each<[string, Partial<InpaintSpec>, number | undefined]>([
    ['nothing', {}, undefined],
    ['its capabilities', { capabilities: { maxInputImages: 4 } }, 4],
    ['its constraints', { constraints: { maxInputImages: 5, combineImages: true } }, 5],
    ['both, of which the first counts', { capabilities: { maxInputImages: 4 }, constraints: { maxInputImages: 5 } }, 4],
  ])('shows its number of input images in both places, from %s', (_where, spec, most) => {
    const found = shown(inpaint(spec)).model_spec as { capabilities?: object; constraints?: object };
    expect(found.capabilities).toEqual(most && { maxInputImages: most });
    expect(found.constraints).toEqual(most && { ...spec.constraints, maxInputImages: most });
  });
});

describe('a video model', () => {
  it('shows that it lacks sound, and nothing that is not published', () => {
    const model = video({ inputs: { referenceImages: 3 }, price: { perSecond: { any: PRICE } } });
    const { model_spec: spec } = shown(model);
    expect(spec).toMatchObject({
      constraints: { audio: false, audio_configurable: false, durations: ['5s', '10s'] },
    });
    expect(spec).not.toHaveProperty('inputs');
    expect(spec).not.toHaveProperty('price');
    const audible = video({ constraints: { audio: true, audio_configurable: true } });
    expect(shown(audible).model_spec).toMatchObject({
      constraints: { audio: true, audio_configurable: true },
    });
    expect(shown({ ...model, spec: {} }).model_spec).not.toHaveProperty('constraints');
  });
});

describe('prices by recording length', () => {
  const music = (pricing: MusicSpec['pricing']): MusicModel => ({
    ...{ ...BASE, kind: 'music', type: 'music' },
    spec: { pricing },
  });

  it('each show the range of seconds that they apply to, in any order of the entry', () => {
    const durations = { '120': PRICE, '60': PRICE, '300': { ...PRICE, min_seconds: 200 } };
    const found = shown(music({ durations })).model_spec as unknown as { pricing: object };
    expect(found.pricing).toEqual({
      durations: {
        '60': { min_seconds: 1, max_seconds: 60, ...PRICE },
        '120': { min_seconds: 61, max_seconds: 120, ...PRICE },
        '300': { min_seconds: 200, max_seconds: 300, ...PRICE },
      },
    });
    expect(shown(music({ generation: PRICE })).model_spec).toMatchObject({ pricing: { generation: PRICE } });
  });

  it('are those of the tiers of a voice changer', () => {
    const found = shown(LOCAL_VOICE_CHANGER).model_spec as unknown as Record<string, unknown>;
    expect(found).toMatchObject({
      ...{ voice_changer: true, default_voice: 'alto', max_source_audio_duration_seconds: 600 },
      ...{ supports_custom_voice_id: false, supports_seed: true, voices: LOCAL_VOICE_CHANGER.voices },
      accepted_audio_formats: LOCAL_VOICE_CHANGER.acceptedAudioFormats,
    });
    const { durations } = found.pricing as { durations: Record<string, object> };
    expect(Object.keys(durations)).toHaveLength(10);
    expect(durations['60']).toEqual({ min_seconds: 1, max_seconds: 60, usd: 0.05, diem: 0.05 });
    expect(durations['600']).toEqual({ min_seconds: 541, max_seconds: 600, usd: 0.5, diem: 0.5 });
  });
});
