import { describe, expect, it } from 'vitest';
import { AUDIO_FORMATS } from '../../domain/catalogue/model.ts';
import { ELEVENLABS_VOICE_CHANGER, LOCAL_VOICE_CHANGER, VOICE_CHANGERS } from '../../domain/catalogue/voiceChangers.ts';
import { formatNano } from '../../domain/money.ts';
import { longestBillableSeconds, quoteVoiceChanger } from '../../domain/pricing.ts';

describe('the built-in voice changers', () => {
  it.each(VOICE_CHANGERS)('$id: has consistent ids, voices, tiers and formats', (model) => {
    expect(model.voices).toContain(model.defaultVoice);
    expect(new Set(model.voices).size).toBe(model.voices.length);
    expect(model.acceptedAudioFormats.every((format) => AUDIO_FORMATS.includes(format))).toBe(true);
    expect(model.durations.every((tier) => tier.ceilingSeconds % 60 === 0)).toBe(true);
    const ceilings = model.durations.map((tier) => tier.ceilingSeconds);
    expect(ceilings).toEqual([...ceilings].sort((left, right) => left - right));
    expect(longestBillableSeconds(model)).toBe(model.maxSourceAudioDurationSeconds);
    expect(model.durations.every((tier) => tier.price.usd === tier.price.diem)).toBe(true);
  });

  const prices: [string, number, string][] = [
    ['local', 1, '0.05'],
    ['local', 60, '0.05'],
    ['local', 61, '0.1'],
    ['local', 600, '0.5'],
    ['elevenlabs', 60, '0.35'],
    ['elevenlabs', 61, '0.7'],
    ['elevenlabs', 300, '1.75'],
  ];
  it.each(prices)('%s: %d seconds cost %s', (which, seconds, usd) => {
    const model = which === 'local' ? LOCAL_VOICE_CHANGER : ELEVENLABS_VOICE_CHANGER;
    const price = quoteVoiceChanger(model, seconds);
    expect(price && formatNano(price.usd)).toBe(usd);
  });

  it('have no price beyond their longest source', () => {
    expect(quoteVoiceChanger(LOCAL_VOICE_CHANGER, 600.01)).toBeUndefined();
    expect(quoteVoiceChanger(ELEVENLABS_VOICE_CHANGER, 301)).toBeUndefined();
  });

  it('have the published facts of the ElevenLabs model', () => {
    expect(ELEVENLABS_VOICE_CHANGER).toMatchObject({
      type: 'music',
      privacy: 'anonymized',
      acceptedAudioFormats: ['mp3', 'wav', 'ogg', 'mp4', 'aac'],
      maxSourceAudioDurationSeconds: 300,
      defaultVoice: 'Aria',
      supportsCustomVoiceId: true,
      supportsBackgroundNoiseRemoval: true,
      supportsSeed: true,
    });
  });
});
