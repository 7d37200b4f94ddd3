import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ELEVENLABS_VOICE_CHANGER, LOCAL_VOICE_CHANGER } from '../../domain/catalogue/voiceChangers.ts';
import {
  billableSeconds,
  ENCODER_PADDING_SECONDS,
  longestBillableSeconds,
  quoteVoiceChanger,
} from '../../domain/pricing.ts';

describe('the billed seconds of a recording', () => {
  it.each([
    [0, false, 1],
    [0.2, false, 1],
    [1, false, 1],
    [1.000_000_5, false, 1],
    [1.000_1, false, 2],
    [59.999, false, 60],
    [60, false, 60],
    [60.01, false, 61],
    // 2,646,000 samples at 44.1 kHz, as divided in binary.
    [2_646_000 / 44_100, false, 60],
    [0.05, true, 1],
    [1.15, true, 1],
    [1.16, true, 2],
    [60.15, true, 60],
    [60.151, true, 61],
  ])('of %f s decoded (lossy: %s) are %i', (decoded, lossy, billed) => {
    expect(billableSeconds(decoded, lossy)).toBe(billed);
  });

  it('never decrease with length, and are not fewer for a lossless recording', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 3_600, noNaN: true }), fc.boolean(), (seconds, lossy) => {
        const billed = billableSeconds(seconds, lossy);
        expect(Number.isInteger(billed)).toBe(true);
        expect(billableSeconds(seconds + 0.5, lossy)).toBeGreaterThanOrEqual(billed);
        expect(billableSeconds(seconds, false)).toBeGreaterThanOrEqual(billed);
        expect(billed).toBeGreaterThanOrEqual(Math.floor(seconds - ENCODER_PADDING_SECONDS));
        expect(billed).toBeLessThan(Math.max(2, seconds + 1));
      }),
    );
  });
});

describe('the quote of a voice changer', () => {
  const tiers = [
    { ceilingSeconds: 60, price: { usd: 5n, diem: 6n } },
    { ceilingSeconds: 120, price: { usd: 10n, diem: 12n } },
  ];
  const model = { ...LOCAL_VOICE_CHANGER, durations: tiers, maxSourceAudioDurationSeconds: 600 };

  it.each([
    [1, tiers[0]?.price],
    [59.5, tiers[0]?.price],
    [60, tiers[0]?.price],
    [61, tiers[1]?.price],
    [120, tiers[1]?.price],
    [121, undefined],
    [600, undefined],
    [0, undefined],
    [-1, undefined],
    [Number.NaN, undefined],
    [Number.POSITIVE_INFINITY, undefined],
  ])('of %d s is the price of its tier', (seconds, price) => {
    expect(quoteVoiceChanger(model, seconds)).toEqual(price);
  });

  it.each([
    ['its last tier', {}, 120],
    ['its stated maximum, which ends earlier', { maxSourceAudioDurationSeconds: 90 }, 90],
    ['nothing without tiers', { durations: [] }, 0],
  ])('ends at %s', (_what, more, longest) => {
    const entry = { ...model, ...more };
    expect(longestBillableSeconds(entry)).toBe(longest);
    expect(quoteVoiceChanger(entry, longest + 1)).toBeUndefined();
    if (longest > 0) expect(quoteVoiceChanger(entry, longest)).toBeDefined();
  });

  it.each([
    ['local', LOCAL_VOICE_CHANGER, 50_000_000n],
    ['ElevenLabs', ELEVENLABS_VOICE_CHANGER, 350_000_000n],
  ])('of the %s voice changer grows by the price of a minute', (_who, entry, perMinute) => {
    for (let minute = 1; minute <= longestBillableSeconds(entry) / 60; minute += 1) {
      const price = { usd: perMinute * BigInt(minute), diem: perMinute * BigInt(minute) };
      expect(quoteVoiceChanger(entry, minute * 60)).toEqual(price);
      expect(quoteVoiceChanger(entry, minute * 60 - 59)).toEqual(price);
    }
  });
});
