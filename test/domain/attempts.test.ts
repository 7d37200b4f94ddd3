/** A key's model privacy applies to the model that is finally called, however a request names it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MODEL_PRIVACIES, type ModelPrivacy } from '../../domain/caller.ts';
import { type AttemptsQuery, attemptsOf } from '../../domain/catalogue/attempts.ts';
import { BUILT_IN_MODELS, createCatalogue } from '../../domain/catalogue/catalogue.ts';
import { MODEL_TYPES, type Model, type ModelType } from '../../domain/catalogue/model.ts';

const NOW = '2026-10-05T12:00:00.000Z';
const PRIVACIES = ['private', 'anonymized'] as const;
type Privacy = Model['privacy'];

/** Written by hand from ACCOUNT-1: whether a key with the policy may call the model. */
const MAY: Record<ModelPrivacy, (type: ModelType, privacy: Privacy) => boolean> = {
  ALL: () => true,
  PRIVATE_TEXT: (type, privacy) =>
    privacy === 'private' || !(type === 'text' || type === 'embedding' || type === 'decision'),
  PRIVATE_ONLY: (_type, privacy) => privacy === 'private',
};

/** Per type a private and an anonymized model, each with an alias, a trait, and a removed model that it replaces. */
const CATALOGUE = createCatalogue(MODEL_TYPES.flatMap((type) => PRIVACIES.flatMap((privacy) => family(type, privacy))));

function family(type: ModelType, privacy: Privacy): Model[] {
  const pattern = BUILT_IN_MODELS.find((model) => model.type === type);
  if (!pattern) throw new Error(`no model of type ${type}`);
  const id = `${type}-${privacy}`;
  const gone = { autoRemap: true, date: '2026-01-01', removesAt: '2026-02-01', replacementModelId: id };
  const opposite = privacy === 'private' ? 'anonymized' : 'private';
  return [
    { ...pattern, id, privacy, aliases: [`${id}-abroad`], listing: { traits: [`${id}-choice`] } } as Model,
    { ...pattern, id: `${id}-gone`, privacy: opposite, aliases: [], listing: { deprecation: gone } } as Model,
  ];
}

/** Ways in which a request can name the model of an id. */
const WAYS: Record<string, (id: string, type: ModelType) => Omit<AttemptsQuery, 'now'>> = {
  direct: (id, type) => ({ name: id, type }),
  alias: (id, type) => ({ name: `${id}-abroad`, type }),
  trait: (id, type) => ({ name: `${id}-choice`, type }),
  'replacement of a removed model': (id, type) => ({ name: `${id}-gone`, type }),
  character: (id, type) => ({ name: `${type}-private`, type, character: { modelId: id } }),
};

function ask(asked: Omit<AttemptsQuery, 'now'>, terms: Partial<Parameters<typeof attemptsOf>[2]> = {}) {
  const all = { modelPrivacy: 'ALL', models: null, isOffline: () => false } as const;
  return attemptsOf(CATALOGUE, { ...asked, now: NOW }, { ...all, ...terms });
}

const idsOf = (found: ReturnType<typeof ask>) => (found.ok ? found.attempts.map(({ model }) => model.id) : found.code);

describe.each(MODEL_PRIVACIES)('a key with %s', (modelPrivacy) => {
  const cases = MODEL_TYPES.flatMap((type) => PRIVACIES.map((privacy) => [type, privacy] as const));

  it.each(Object.entries(WAYS))('applies it to a model named by %s', (_way, say) => {
    for (const [type, privacy] of cases) {
      const id = `${type}-${privacy}`;
      const found = ask(say(id, type), { modelPrivacy });
      expect(idsOf(found)).toEqual(MAY[modelPrivacy](type, privacy) ? [id] : 'forbidden');
      if (!found.ok) expect(found.message).toBe(wordsOf(modelPrivacy, id));
    }
  });

  it('applies it to fallbacks under any name', () => {
    for (const [type, privacy] of cases) {
      for (const suffix of ['', '-abroad', '-choice', '-gone']) {
        const asked = { name: `${type}-private`, type, fallbacks: [`${type}-${privacy}${suffix}`] };
        const second = privacy === 'private' || !MAY[modelPrivacy](type, privacy) ? [] : [`${type}-${privacy}`];
        expect(idsOf(ask(asked, { modelPrivacy }))).toEqual([`${type}-private`, ...second]);
      }
    }
  });

  it('cannot use an allowed fallback to replace a forbidden first model', () => {
    for (const [type, privacy] of cases) {
      const asked = { name: `${type}-${privacy}`, type, fallbacks: [`${type}-private`] };
      const found = idsOf(ask(asked, { modelPrivacy }));
      if (!MAY[modelPrivacy](type, privacy)) expect(found).toBe('forbidden');
    }
  });
});

function wordsOf(policy: ModelPrivacy, id: string): string {
  return `This API key's modelPrivacy setting (${policy}) does not allow the model ${id}`;
}

it('tries no model that policy or scope forbid, and no model twice', () => {
  const ids = [...CATALOGUE.byId.keys()];
  const name = fc
    .tuple(fc.constantFrom(...ids), fc.constantFrom('', '-abroad', '-choice', '-unknown'))
    .map(([id, suffix]) => id + suffix);
  const asked = fc.record(
    {
      name,
      type: fc.constantFrom(...MODEL_TYPES),
      character: fc.record({ modelId: name }),
      fallbacks: fc.array(name, { maxLength: 10 }),
    },
    { requiredKeys: ['name', 'type'] },
  );
  const scope = fc.option(fc.subarray(ids), { nil: null });
  fc.assert(
    fc.property(asked, fc.constantFrom(...MODEL_PRIVACIES), scope, (request, modelPrivacy, models) => {
      const found = ask(request, { modelPrivacy, models });
      const attempts = found.ok ? found.attempts.map(({ model }) => model) : [];
      expect(new Set(attempts.map(({ id }) => id)).size).toBe(attempts.length);
      for (const { id, type, privacy } of attempts) {
        expect(MAY[modelPrivacy](type, privacy)).toBe(true);
        expect(models === null || models.includes(id)).toBe(true);
      }
    }),
    { numRuns: 2_000 },
  );
});

describe('a character', () => {
  const type = 'text';
  const asked = { name: 'text-private', type, fallbacks: ['text-anonymized'] } as const;
  const speaker = (modelId: string) => ({ ...asked, fallbacks: [], character: { modelId } });
  const isOffline = ({ id }: Model) => id === 'text-anonymized';

  it('answers by its own model', () => {
    expect(idsOf(ask(speaker('text-anonymized')))).toEqual(['text-anonymized']);
    expect(idsOf(ask(speaker('text-anonymized-gone')))).toEqual(['text-anonymized']);
  });

  it('answers by the requested model while its own is offline', () => {
    expect(idsOf(ask(speaker('text-anonymized'), { isOffline }))).toEqual(['text-private']);
    expect(idsOf(ask(speaker('text-anonymized-gone'), { isOffline }))).toEqual(['text-private']);
    const withFallback = { ...asked, character: { modelId: 'text-anonymized' } };
    expect(idsOf(ask(withFallback, { isOffline }))).toEqual(['text-private', 'text-anonymized']);
  });

  it('answers by the requested model when its own was removed', () => {
    expect(idsOf(ask(speaker('no-such-model')))).toEqual(['text-private']);
  });

  it('gives no access to a requested model that the key may not call', () => {
    const swapped = { name: 'text-anonymized', type, character: { modelId: 'text-private' } } as const;
    const terms = { isOffline: ({ id }: Model) => id === 'text-private' };
    expect(idsOf(ask(swapped, { ...terms, modelPrivacy: 'PRIVATE_ONLY' }))).toBe('forbidden');
  });
});

describe('fallbacks', () => {
  const type = 'text';
  const first = 'text-private';
  it.each<[string, string[], string[]]>([
    ['are tried in their order', ['text-anonymized', 'text-private-abroad'], [first, 'text-anonymized']],
    ['that nobody knows are passed over', ['no-such-model', 'text-anonymized'], [first, 'text-anonymized']],
    ['of another type are passed over', ['image-private', 'text-anonymized'], [first, 'text-anonymized']],
    ['that are the first model by another name are no second try', ['text-private-choice'], [first]],
  ])('%s', (_what, fallbacks, ids) => {
    expect(idsOf(ask({ name: first, type, fallbacks }))).toEqual(ids);
  });

  it('are not tried when the first model is not found', () => {
    expect(idsOf(ask({ name: 'no-such-model', type, fallbacks: [first] }))).toBe('model_not_found');
  });
});
