import { describe, expect, it } from 'vitest';
import type { MusicSpec } from '../../../domain/catalogue/specs.ts';
import { type AudioFields, offerAudio, priceAudio } from '../../../domain/generation/audioOffer.ts';
import { music, usd } from './models.ts';

const PROMPT = 'a slow waltz for two accordions';

function offer(spec: Partial<MusicSpec>, fields: Partial<AudioFields> = {}) {
  return offerAudio(music(spec), { prompt: PROMPT, ...fields });
}

describe('an audio order', () => {
  it.each([
    ['a prompt of less than ten characters', {}, { prompt: 'too short' }, 'prompt'],
    ['a prompt that is only long with its spaces', {}, { prompt: '   nine char   ' }, 'prompt'],
    ['a prompt over the limit of the model', { prompt_character_limit: 12 }, {}, 'prompt'],
    ['lyrics for a model without', {}, { lyrics_prompt: 'la' }, 'lyrics_prompt'],
    ['no lyrics for a model that needs them', { lyrics_required: true }, {}, 'lyrics_prompt'],
    [
      'lyrics over the limit of the model',
      { supports_lyrics: true, lyrics_character_limit: 3 },
      { lyrics_prompt: 'lala' },
      'lyrics_prompt',
    ],
    [
      'lyrics together with the writing of lyrics',
      { supports_lyrics: true, supports_lyrics_optimizer: true },
      { lyrics_prompt: 'la', lyrics_optimizer: true },
      'lyrics_prompt',
    ],
    ['a length for a model without', {}, { duration_seconds: 30 }, 'duration_seconds'],
    ['a length that is no option', { duration_options: [30, 60] }, { duration_seconds: 45 }, 'duration_seconds'],
    ['a length below the least', { min_duration: 3, max_duration: 9 }, { duration_seconds: 2 }, 'duration_seconds'],
    ['a length above the most', { min_duration: 3, max_duration: 9 }, { duration_seconds: 10 }, 'duration_seconds'],
    [
      'no length where the second has a price and there is no default',
      { pricing: { per_second: usd(0.1) }, min_duration: 1 },
      {},
      'duration_seconds',
    ],
    ['an instrumental of a model that has none', {}, { force_instrumental: true }, 'force_instrumental'],
    ['the writing of lyrics', {}, { lyrics_optimizer: true }, 'lyrics_optimizer'],
    ['a loop', {}, { loop: true }, 'loop'],
    ['a language', {}, { language_code: 'de' }, 'language_code'],
    ['a speed', {}, { speed: 1 }, 'speed'],
    ['a speed below the least', { supports_speed: true, min_speed: 0.7 }, { speed: 0.6 }, 'speed'],
    ['a speed above the most', { supports_speed: true, max_speed: 1.2 }, { speed: 1.3 }, 'speed'],
    ['a voice of a model without', {}, { voice: 'Aria' }, 'voice'],
    ['an unknown voice', { voices: ['Aria'] }, { voice: 'Bert' }, 'voice'],
    ['a voice id that is a path', { voices: ['Aria'], supports_custom_voice_id: true }, { voice: '../x' }, 'voice'],
  ] satisfies [string, Partial<MusicSpec>, Partial<AudioFields>, string][])(
    'is refused with the name of the field for %s',
    (_, spec, fields, field) => {
      expect(offer(spec, fields)).toMatchObject({ ok: false, field });
    },
  );

  it('lists the available voices', () => {
    expect(offer({ voices: ['Aria', 'Bill'] }, { voice: 'Bert' })).toMatchObject({
      supportedVoices: ['Aria', 'Bill'],
    });
  });

  it('contains every option of the model, with its default', () => {
    const spec = {
      ...{ supports_lyrics: true, supports_force_instrumental: true, supports_lyrics_optimizer: true },
      ...{ supports_loop: true, supports_speed: true, default_speed: 1.1, voices: ['Aria', 'Bill'] },
      ...{ default_voice: 'Bill', min_duration: 5, max_duration: 60, default_duration: 20 },
    };
    expect(offer(spec, { prompt: `  ${PROMPT}\n`, lyrics_prompt: 'la' })).toMatchObject({
      ok: true,
      order: {
        ...{ kind: 'audio', prompt: PROMPT, lyrics: 'la', forceInstrumental: false, lyricsOptimizer: false },
        ...{ loop: false, speed: 1.1, voice: 'Bill', durationSeconds: 20 },
      },
    });
  });

  it('contains no option that the model lacks', () => {
    expect(offer({})).toMatchObject({ order: { kind: 'audio', prompt: PROMPT } });
    expect(Object.keys((offer({}) as { order: object }).order)).toEqual(['kind', 'prompt']);
  });
});

describe('the price of an audio order', () => {
  const tiers = { '60': { ...usd(0.69), min_seconds: 3 }, '120': usd(1.38) };
  it.each([
    ['a generation', { generation: usd(0.04) }, { characters: 9 }, 40_000_000n, 'generation', '1'],
    [
      'a thousand characters',
      { per_thousand_characters: usd(0.115) },
      { characters: 1_000 },
      115_000_000n,
      'thousand characters',
      '1',
    ],
    [
      'a character, rounded up',
      { per_thousand_characters: usd(0.0000001) },
      { characters: 1 },
      1n,
      'thousand characters',
      '0.001',
    ],
    ['a second', { per_second: usd(0.002875) }, { characters: 9, durationSeconds: 7 }, 20_125_000n, 'second', '7'],
    ['the first tier', { durations: tiers }, { characters: 9, durationSeconds: 60 }, 690_000_000n, 'generation', '1'],
    ['the next tier', { durations: tiers }, { characters: 9, durationSeconds: 61 }, 1_380_000_000n, 'generation', '1'],
  ] as const)('depends on %s', (_, pricing, usage, price, unit, units) => {
    const terms = priceAudio(music({ pricing }), usage);
    expect(terms).toMatchObject({ price: { usd: price, diem: price }, unit, units });
  });

  it('is undefined beyond the last tier', () => {
    expect(priceAudio(music({ pricing: { durations: tiers } }), { characters: 1, durationSeconds: 121 })).toBe(
      undefined,
    );
  });

  it('counts a character of any script once', () => {
    const pricing = { per_thousand_characters: usd(1) };
    const words = 'Grüße 👋🏽 из 東京';
    expect(offer({ pricing, min_prompt_length: 1 }, { prompt: words })).toMatchObject({
      usage: { characters: [...words].length },
    });
  });
});
