import { describe, expect, it } from 'vitest';
import { intersectKeyTerms, type KeyTerms, MODEL_PRIVACIES } from '../../domain/caller.ts';
import { BUILT_IN_MODELS } from '../../domain/catalogue/catalogue.ts';
import { isAllowed, isInScope } from '../../domain/modelAccess.ts';

const ANY: KeyTerms = { modelPrivacy: 'ALL', models: null, expiresAt: null };
const SOON = new Date('2030-01-01');
const LATER = new Date('2031-01-01');

describe('the models that two keys both allow', () => {
  it.each([
    [{}, {}, {}],
    [{ expiresAt: SOON }, {}, { expiresAt: SOON }],
    [{ expiresAt: SOON }, { expiresAt: LATER }, { expiresAt: SOON }],
    [{ models: ['a', 'b'] }, {}, { models: ['a', 'b'] }],
    [{ models: ['a', 'b'] }, { models: ['b', 'c'] }, { models: ['b'] }],
    [{ models: ['a'] }, { models: ['b'] }, { models: [] }],
  ])('%j and %j: %j', (one, other, both) => {
    const [first, second] = [
      { ...ANY, ...one },
      { ...ANY, ...other },
    ];
    expect(intersectKeyTerms(first, second)).toEqual({ ...ANY, ...both });
    expect(intersectKeyTerms(second, first)).toEqual({ ...ANY, ...both });
  });

  it('are exactly those that each key may call, for every pair of settings', () => {
    const scopes = [null, [], ...BUILT_IN_MODELS.slice(0, 3).map(({ id }) => [id])];
    const terms = MODEL_PRIVACIES.flatMap((modelPrivacy) =>
      scopes.map((models): KeyTerms => ({ ...ANY, modelPrivacy, models })),
    );
    const callable = (given: KeyTerms) => (model: (typeof BUILT_IN_MODELS)[number]) =>
      isAllowed(model, given.modelPrivacy) && isInScope(model, given.models);
    for (const one of terms) {
      for (const other of terms) {
        const expected = BUILT_IN_MODELS.filter(callable(one)).filter(callable(other));
        expect(BUILT_IN_MODELS.filter(callable(intersectKeyTerms(one, other)))).toEqual(expected);
      }
    }
  });
});
