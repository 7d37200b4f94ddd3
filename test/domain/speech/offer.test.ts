/** Limits of a speech model: formats, voices, and text that can be spoken. */
import { describe, expect, it } from 'vitest';
import type { TtsModel } from '../../../domain/catalogue/model.ts';
import type { TtsSpec } from '../../../domain/catalogue/specs.ts';
import { formatOf, isSpeakable, isVoiceHandle, mayBeHandle, voiceOf } from '../../../domain/speech/offer.ts';

const FORMATS = ['mp3', 'opus', 'wav'] as const;

function model(spec: Omit<TtsSpec, 'pricing'>): TtsModel {
  return {
    ...{ id: 'm', kind: 'tts', type: 'tts', provider: 'p', upstreamModel: 'm', name: 'M', created: 1 },
    ...{ privacy: 'private', description: '', modelSource: '' },
    spec: { ...spec, pricing: { input: { usd: 1, diem: 1 } } },
  };
}

describe('the format', () => {
  it.each([
    [['wav', 'mp3'], 'wav', undefined, 'wav'],
    [['wav', 'mp3'], 'wav', 'mp3', 'mp3'],
    [['wav'], undefined, undefined, 'wav'],
    [['ogg', 'opus'], 'ogg', undefined, 'opus'],
  ] as const)('from %j, by default %s, ordered as %s, is %s', (supported_formats, usual, wished, format) => {
    const spec = { supported_formats, ...(usual && { default_format: usual }) };
    expect(formatOf(model(spec), wished, FORMATS)).toEqual({ ok: true, format });
  });

  it('may be any one if the entry lists none, and is refused by name if the model lacks it', () => {
    expect(formatOf(model({}), 'opus', FORMATS)).toEqual({ ok: true, format: 'opus' });
    const refused = formatOf(model({ supported_formats: ['wav', 'mp3'] }), 'opus', FORMATS);
    expect(refused).toMatchObject({
      ok: false,
      field: 'response_format',
      message: 'This model answers mp3, wav',
    });
  });
});

describe('the voice', () => {
  const listed = model({ voices: ['Ann', 'Bob'], default_voice: 'Bob' });
  const open = model({ default_voice: 'Kore' });
  const custom = model({ voices: ['Ann'], supports_custom_voice_id: true });

  it.each([
    [listed, undefined, 'Bob'],
    [listed, 'Ann', 'Ann'],
    [model({ voices: ['Ann'] }), undefined, 'Ann'],
    [model({}), undefined, undefined],
    [open, 'Puck', 'Puck'],
    [open, 'Ana María (es-419)', 'Ana María (es-419)'],
    [custom, '21m00Tcm4TlvDq8ikWAM', '21m00Tcm4TlvDq8ikWAM'],
  ])('%# is the ordered one, or the default', (of, wished, voice) => {
    expect(voiceOf(of, wished)).toEqual({ ok: true, voice });
  });

  it.each([
    [listed, 'Cem', ['Ann', 'Bob']],
    [listed, 'ann', ['Ann', 'Bob']],
    [custom, '../Ann', ['Ann']],
    [open, 'a/b', ['Kore']],
    [open, 'a?b', ['Kore']],
    [open, '..', ['Kore']],
    [open, 'a\nb', ['Kore']],
    [open, 'a\u0000', ['Kore']],
  ])('%# is refused with a list of the available ones', (of, wished, supportedVoices) => {
    expect(voiceOf(of, wished)).toMatchObject({ ok: false, field: 'voice', supportedVoices });
  });

  it('is a handle only in the format of issued handles', () => {
    expect([isVoiceHandle('vv_'), isVoiceHandle('VV_1'), mayBeHandle('vv_1')]).toEqual([true, false, false]);
    expect(mayBeHandle(`vv_${'0'.repeat(32)}`)).toBe(true);
    expect(mayBeHandle(`vv_${'0'.repeat(32)}\n`)).toBe(false);
  });
});

it.each([
  ['Hi', true],
  ['42', true],
  ['こんにちは', true],
  ['مرحبا', true],
  ['…?!', false],
  ['😀', false],
  [' \n\t', false],
  ['', false],
])('%j can be spoken: %s', (input, speakable) => {
  expect(isSpeakable(input)).toBe(speakable);
});
