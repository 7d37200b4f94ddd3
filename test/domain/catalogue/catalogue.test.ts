/** Names of models: which model owns a name that several models claim. */
import { describe, expect, it } from 'vitest';
import { createCatalogue, mergeModels, spellingOf } from '../../../domain/catalogue/catalogue.ts';
import type { Model } from '../../../domain/catalogue/model.ts';
import { modelNamed, resolveModel } from '../../../domain/catalogue/resolveModel.ts';
import { LOCAL_VOICE_CHANGER } from '../../../domain/catalogue/voiceChangers.ts';

const voice = (id: string, more: Partial<Model> = {}) => ({ ...LOCAL_VOICE_CHANGER, id, ...more }) as Model;
const now = '2026-10-05T12:00:00.000Z';
const idOf = (models: Model[], name: string, type: Model['type'] = 'music') =>
  modelNamed(createCatalogue(models), { name, type, now })?.id;

describe('a configured model', () => {
  it('replaces the built-in model of the same id, and otherwise follows the built-in ones', () => {
    const own = voice('local-voice-changer', { name: 'Mine' });
    const added = voice('added');
    const merged = mergeModels([own, added]);
    expect(merged.filter(({ id }) => id === own.id)).toEqual([own]);
    expect(merged.slice(-2)).toEqual([own, added]);
    expect(merged.length).toBe(mergeModels([]).length + 1);
  });
});

describe('a name', () => {
  const first = voice('first', { aliases: ['second'], listing: { traits: ['third'] } });

  it.each([
    ['an id before a foreign name', [first, voice('second')], 'second', 'second'],
    ['an id before a trait', [first, voice('third')], 'third', 'third'],
    ['a foreign name before a trait', [first, voice('x', { listing: { traits: ['second'] } })], 'second', 'first'],
    [
      'a trait before another spelling',
      [first, voice('th.ird'), voice('x', { listing: { traits: ['th_ird'] } })],
      'th_ird',
      'x',
    ],
    ['of two foreign names the later one', [first, voice('x', { aliases: ['second'] })], 'second', 'x'],
    ['of two traits the later one', [first, voice('x', { listing: { traits: ['third'] } })], 'third', 'x'],
    ['nobody', [first], 'fourth', undefined],
  ] as [string, Model[], string, string | undefined][])('resolves to %s', (_what, models, name, id) => {
    expect(idOf(models, name)).toBe(id);
  });

  it('that is an alias or a trait counts for its own type only, an id for all types', () => {
    expect(idOf([first], 'second', 'text')).toBeUndefined();
    expect(idOf([first], 'third', 'text')).toBeUndefined();
    expect(idOf([first], 'first', 'text')).toBe('first');
  });

  it.each([
    ['a.b c_d', 'a-b-c-d'],
    ['plain', 'plain'],
    ['UPPER.case', 'UPPER-case'],
  ])('%s has the spelling %s', (name, spelling) => {
    expect(spellingOf(name)).toBe(spelling);
  });

  it('has no alternative spelling that three models share', () => {
    const models = [voice('a.b'), voice('a_b'), voice('a b')];
    expect(idOf(models, 'a-b')).toBeUndefined();
    for (const { id } of models) expect(idOf(models, id)).toBe(id);
  });
});

describe('a removed model', () => {
  const going = (id: string, deprecation: object) =>
    voice(id, {
      listing: {
        deprecation: { autoRemap: true, date: '2026-01-01', removesAt: '2026-10-05', ...deprecation },
      },
    });
  const resolve = (models: Model[], name: string) =>
    resolveModel(createCatalogue(models), { name, type: 'music', now });

  it.each([
    ['is gone from its day of removal', {}, false],
    ['is there until the moment of its removal', { removesAt: '2026-10-05T12:00:00.001Z' }, true],
    ['is gone at the moment of its removal', { removesAt: '2026-10-05T12:00:00.000Z' }, false],
    ['is there on the day before', { removesAt: '2026-10-06' }, true],
  ])('%s', (_what, deprecation, isThere) => {
    const found = resolve([going('old', { autoRemap: false, ...deprecation })], 'old');
    expect(found.ok).toBe(isThere);
  });
});
