/** Terms of a measured order: the charge follows the decoded length, never the claim of the client or a header. */
import { describe, expect, it } from 'vitest';
import { jobTerms, type MeasuredOrder, measuredOrder } from '../../activities/jobTerms.ts';
import type { MeasuredSource, Measurement } from '../../activities/types.ts';
import type { Model, VideoPrice } from '../../domain/catalogue/model.ts';
import { LOCAL_VOICE_CHANGER } from '../../domain/catalogue/voiceChangers.ts';
import type { MeasuredMedium } from '../../domain/generation/media.ts';
import type { AudioGeneration, GenerationInput, VideoGeneration, VoiceChange } from '../../workflows/contract.ts';
import { music, usd, type VideoEntry, video } from '../domain/generation/models.ts';

const ANY = {
  ...{ queueId: '7', accountId: 'a', keyId: null, requestId: 'r', provider: 'p' },
  providerQueue: 'providers',
  acceptBy: 0,
  timing: { acceptMs: 1, deadlineMs: 1, retentionMs: 1, pollFirstMs: 1, pollLongestMs: 1, heartbeatMs: 1 },
} as const;
const VOICE: VoiceChange = {
  ...ANY,
  ...{ kind: 'voice-changer', modelId: 'local-voice-changer', source: { from: 'url' }, voice: 'alto' },
  removeBackgroundNoise: false,
};
const AUDIO: AudioGeneration = { ...ANY, kind: 'audio', modelId: 'tune', usage: { characters: 1_500 } };
const VIDEO: VideoGeneration = {
  ...ANY,
  ...{ kind: 'video', modelId: 'film', mediaCount: 0, usage: { resolution: '480p', durationSeconds: 5 } },
};

const recording = (decodedSeconds: number, lossy = false): MeasuredSource => ({
  ...{ sizeBytes: 1, sha256: 'ab', format: 'wav', demuxer: 'wav', contentType: 'audio/wav', measuredAt: '' },
  ...{ decodedSeconds, lossy },
});
const medium = (more: Partial<MeasuredMedium>): MeasuredMedium => ({
  ...{ role: 'video', index: 0, kind: 'video', sizeBytes: 1, sha256: 'ab', contentType: 'video/mp4' },
  ...more,
});

const termsOf = (model: Model | undefined, order: MeasuredOrder) => jobTerms(model, order);

describe('a voice change', () => {
  it.each([
    [0.5, false, '1', 50_000_000n, 1],
    [60, false, '1', 50_000_000n, 60],
    [60.1, false, '2', 100_000_000n, 61],
    [60.1, true, '1', 50_000_000n, 60],
    [600, false, '10', 500_000_000n, 600],
  ])('of %f s (lossy: %s) is %s minutes', (seconds, lossy, units, nano, durationSeconds) => {
    const found = termsOf(LOCAL_VOICE_CHANGER, { job: VOICE, source: recording(seconds, lossy) });
    expect(found).toEqual({
      ok: true,
      terms: {
        ...{ sku: 'local-voice-changer-audio-minute', unit: 'minute', units },
        ...{ price: { usd: nano, diem: nano }, pricePerUnitUsd: 50_000_000n },
      },
      durationSeconds,
      measured: `${seconds.toFixed(3)} s of wav`,
    });
  });

  it.each([
    ['longer than the model takes', LOCAL_VOICE_CHANGER, 600.5, 'media_too_long'],
    ['of a model that is gone', undefined, 1, 'model_not_found'],
    ['of a model of another kind', music({}), 1, 'model_not_found'],
  ] as const)('%s is refused', (_what, model, seconds, code) => {
    expect(termsOf(model, { job: VOICE, source: recording(seconds) })).toMatchObject({ ok: false, code });
  });
});

describe('an audio order', () => {
  it.each([
    ['by the generation', { generation: usd(0.1) }, AUDIO.usage, 100_000_000n, undefined],
    ['by the character', { per_thousand_characters: usd(0.2) }, AUDIO.usage, 300_000_000n, undefined],
    ['by the second', { per_second: usd(0.01) }, { characters: 1, durationSeconds: 30 }, 300_000_000n, 30],
  ])('is priced %s from the ordered quantities', (_how, pricing, usage, nano, durationSeconds) => {
    const found = termsOf(music({ pricing }), { job: { ...AUDIO, usage }, source: { media: [] } });
    expect(found).toMatchObject({ ok: true, terms: { price: { usd: nano, diem: nano } } });
    expect(found).not.toHaveProperty('measured');
    expect('durationSeconds' in found ? found.durationSeconds : undefined).toBe(durationSeconds);
  });

  it.each([
    ['a length that has no price', music({ pricing: { per_second: usd(0.01) } }), 'model_offline'],
    ['a model that is gone', undefined, 'model_not_found'],
    ['a model of another kind', video(), 'model_not_found'],
  ] as const)('is refused for %s', (_what, model, code) => {
    expect(termsOf(model, { job: AUDIO, source: { media: [] } })).toMatchObject({ ok: false, code });
  });
});

describe('a video order', () => {
  const SOURCE: VideoEntry = { constraints: { model_type: 'video', durations: [] } };
  const price: VideoPrice = { perSecond: { any: usd(0.02) } };
  const order = (more: Partial<VideoGeneration>, ...media: MeasuredMedium[]): MeasuredOrder => ({
    job: { ...VIDEO, ...more },
    source: { media },
  });

  it('without media is priced from the ordered quantities', () => {
    const found = termsOf(video({ price }), order({}));
    expect(found).toMatchObject({
      ok: true,
      durationSeconds: 5,
      terms: { units: '5', price: { usd: 100_000_000n } },
    });
    expect(found).not.toHaveProperty('measured');
  });

  it.each([
    [4.2, 100_000_000n, 5],
    [4.0005, 80_000_000n, 4],
    [0.3, 20_000_000n, 1],
  ])('from a video of %f s is priced by the decoded length', (seconds, nano, durationSeconds) => {
    const source = medium({ seconds, width: 640, height: 480, framesPerSecond: 25 });
    const found = termsOf(video({ ...SOURCE, price }), order({ usage: { durationSeconds: 99 } }, source));
    expect(found).toMatchObject({ ok: true, durationSeconds, terms: { price: { usd: nano } } });
  });

  it('keeps its ordered length when a video only guides it', () => {
    const guided: VideoEntry = { constraints: { video_input: true }, price };
    const source = medium({ seconds: 60, width: 640, height: 480 });
    expect(termsOf(video(guided), order({}, source))).toMatchObject({ durationSeconds: 5 });
  });

  it('describes the measured media, as many as a timeline line can hold', () => {
    const images = Array.from({ length: 20 }, (_, index) =>
      medium({ role: 'reference_image', kind: 'image', index, width: 64, height: 48 }),
    );
    const found = termsOf(video({ price }), order({}, medium({ seconds: 1.5, width: 64, height: 48 }), ...images));
    const words = 'measured' in found ? (found.measured ?? '').split(', ') : [];
    expect(words[0]).toBe('video 1.500 s 64×48');
    expect(words[1]).toBe('reference_image 64×48');
    expect(words).toHaveLength(12);
  });

  it.each([
    ['without a price', { price: { perSecond: { '4k': usd(1) } } }, order({})],
    ['whose source could not be measured', { ...SOURCE, price }, order({ usage: {} }, medium({}))],
    ['whose source did not come', { ...SOURCE, price }, order({ usage: {} })],
  ] as [string, VideoEntry, MeasuredOrder][])('%s is refused', (_what, entry, ordered) => {
    expect(termsOf(video(entry), ordered)).toMatchObject({ ok: false, code: 'model_offline' });
  });
});

describe('an order and its measurements', () => {
  const MEDIA = { media: [] };

  it.each<[GenerationInput, Measurement]>([
    [VOICE, recording(1)],
    [AUDIO, MEDIA],
    [VIDEO, MEDIA],
  ])('belong together (%#)', (job, source) => {
    expect(measuredOrder({ job, source })).toEqual({ job, source });
  });

  it.each<[GenerationInput, Measurement]>([
    [VOICE, MEDIA],
    [AUDIO, recording(1)],
    [VIDEO, recording(1)],
  ])('of different kinds throw an error (%#)', (job, source) => {
    expect(() => measuredOrder({ job, source })).toThrow('measurements of another kind');
  });
});
