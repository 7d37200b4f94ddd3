/**
 * Every built-in model accepts and prices each length, size and quality that it lists. No price is below the amount
 * that an account needs before its order is read.
 */
import { describe, expect, it } from 'vitest';
import { BUILT_IN_MODELS } from '../../../domain/catalogue/catalogue.ts';
import type { Model, ModelKind, MusicModel, Price, VideoModel } from '../../../domain/catalogue/model.ts';
import { offerAudio } from '../../../domain/generation/audioOffer.ts';
import { offerVideo } from '../../../domain/generation/offerVideo.ts';
import { type MeasuredVideo, priceVideo } from '../../../domain/generation/priceVideo.ts';
import type { VideoFields } from '../../../domain/generation/videoFields.ts';
import { needsOf } from '../../../domain/generation/videoNeeds.ts';
import { chooseTier, mostInputImages, qualitiesOf, resolutionsOf } from '../../../domain/images/offer.ts';
import { priceOfEdit, priceOfImages, priceOfUpscale } from '../../../domain/images/price.ts';
import { quoteVoiceChanger } from '../../../domain/pricing.ts';
import { smallestPricesOf } from '../../../domain/smallestPrices.ts';
import { formatOf, voiceOf } from '../../../domain/speech/offer.ts';
import { priceOfRecording, priceOfSpeech } from '../../../domain/speech/price.ts';
import { boundOf } from '../../../domain/text/price.ts';

type Of<Kind extends ModelKind> = Extract<Model, { kind: Kind }>;

function all<Kind extends ModelKind>(kind: Kind): Of<Kind>[] {
  return BUILT_IN_MODELS.filter((model): model is Of<Kind> => model.kind === kind);
}

function named<Entry extends Model>(models: readonly Entry[]): [string, Entry][] {
  return models.map((model) => [model.id, model]);
}

function ascending(left: bigint, right: bigint): number {
  return left < right ? -1 : Number(left > right);
}

/** Expects a positive price, and that an account with that amount passes the funds gate. */
function expectSold(model: Model, price: Price | undefined, order: string): void {
  expect(price, order).toBeDefined();
  if (price === undefined) return;
  expect(price.usd, order).toBeGreaterThan(0n);
  const { paid, hasFree } = smallestPricesOf([model]);
  const lets = paid.some((least) => least.usd <= price.usd && (price.diem === 0n || least.diem <= price.diem));
  // An order by tokens, seconds or characters may cost less than the minimum.
  const isBySmallUnits = ['text', 'embedding', 'decision', 'asr', 'tts'].includes(model.kind);
  expect([order, hasFree || lets || isBySmallUnits]).toEqual([order, true]);
}

const URL = 'https://media.example.org/a';

/** An order with all mandatory fields of the model. */
function orderOf(model: VideoModel, more: VideoFields): VideoFields {
  const needs = needsOf(model);
  return {
    ...(needs.prompt !== 'none' && { prompt: 'a tram at dawn' }),
    ...((needs.image === 'required' || needs.endImage === 'required') && { image_url: URL }),
    ...(needs.endImage === 'required' && { end_image_url: URL }),
    ...(needs.video === 'required' && { video_url: URL }),
    ...more,
  };
}

/** Sources of several heights, rates and lengths, because a price may depend on them. */
const SOURCES: MeasuredVideo[] = [240, 720, 1_080, 4_320].flatMap((height) =>
  [24, 60].map((framesPerSecond) => ({ seconds: 3.2, height, framesPerSecond })),
);

function expectEachSold(model: VideoModel, choice: Pick<VideoFields, 'duration' | 'resolution'>): void {
  const order = JSON.stringify(choice);
  const offer = offerVideo(model, orderOf(model, choice));
  expect(offer, order).toMatchObject({ ok: true });
  if (!offer.ok) return;
  for (const source of needsOf(model).bySource ? SOURCES : [undefined]) {
    expectSold(model, priceVideo(model, offer.usage, source)?.price, order);
  }
}

describe('a video model', () => {
  const priced = all('video').filter(({ price }) => price !== undefined);

  it('with a price exists more than once', () => {
    expect(priced.length).toBeGreaterThan(1);
  });

  it.each(named(priced))('%s has a price for every order', (_id, model) => {
    const { constraints, bySource } = needsOf(model);
    const durations = bySource ? [undefined] : constraints.durations;
    const resolutions = constraints.resolutions.length > 0 ? constraints.resolutions : [undefined];
    for (const duration of durations) {
      for (const resolution of resolutions) expectEachSold(model, { duration, resolution });
    }
  });

  it.each(named(priced))('%s costs no less for a longer order', (_id, model) => {
    const { constraints, bySource } = needsOf(model);
    if (bySource) return;
    const costs = constraints.durations
      .filter((duration) => /^\d+s$/.test(duration))
      .sort((left, right) => Number.parseInt(left, 10) - Number.parseInt(right, 10))
      .map((duration) => {
        const offer = offerVideo(model, orderOf(model, { duration }));
        return offer.ok ? (priceVideo(model, offer.usage)?.price.usd ?? -1n) : -1n;
      });
    expect(costs).toEqual(costs.toSorted(ascending));
  });

  const described = all('video').filter(({ spec }) => spec.constraints !== undefined);
  it.each(named(described))('%s accepts an order with its mandatory fields', (_id, model) => {
    const { constraints, bySource } = needsOf(model);
    const [duration] = constraints.durations;
    const fields = orderOf(model, bySource ? {} : { duration });
    expect(offerVideo(model, fields)).toMatchObject({ ok: true });
  });
});

/** Lengths at which the price may change, with the lengths just below and above. */
function lengthsOf({ spec }: MusicModel): (number | undefined)[] {
  const { duration_options: options, min_duration: least, max_duration: most, pricing } = spec;
  if (options) return [...options];
  const ceilings = Object.keys(pricing.durations ?? {}).map(Number);
  const edges = [least, most, ...ceilings].filter((each) => each !== undefined);
  if (edges.length === 0) return [undefined];
  const [from, to] = [least ?? 1, most ?? Math.max(...ceilings)];
  const around = edges.flatMap((edge) => [edge - 1, edge, edge + 1]);
  return [undefined, ...new Set(around)].filter((each) => each === undefined || (each >= from && each <= to));
}

describe('a music model', () => {
  // A model whose price is unknown before it has worked is offline.
  const sold = all('music').filter(({ listing }) => listing?.offline !== true);

  it.each(named(sold))('%s has a price for every length', (_id, model) => {
    const { spec } = model;
    const prompt = 'slow rain on a tin roof at night'.slice(0, spec.prompt_character_limit ?? 100);
    const lyrics = spec.lyrics_required ? { lyrics_prompt: 'la la la' } : {};
    const costs = new Map<number, bigint>();
    for (const duration_seconds of lengthsOf(model)) {
      const order = `${duration_seconds} s`;
      const offer = offerAudio(model, { prompt, ...lyrics, duration_seconds });
      expect(offer, order).toMatchObject({ ok: true });
      if (!offer.ok) continue;
      expectSold(model, offer.terms.price, order);
      if (duration_seconds !== undefined) costs.set(duration_seconds, offer.terms.price.usd);
    }
    const byLength = [...costs].toSorted(([left], [right]) => left - right).map(([, cost]) => cost);
    expect(byLength).toEqual(byLength.toSorted(ascending));
  });

  it.each(named(all('music')))('%s lists its default voice and format', (_id, { spec }) => {
    if (spec.default_voice !== undefined) expect(spec.voices).toContain(spec.default_voice);
    if (spec.default_format !== undefined) expect(spec.supported_formats).toContain(spec.default_format);
  });
});

describe('an image model', () => {
  it.each(named(all('image')))('generates with %s at a price', (_id, model) => {
    const { spec } = model;
    for (const resolution of [undefined, ...resolutionsOf(spec)]) {
      for (const quality of [undefined, ...qualitiesOf(spec)]) {
        const tier = chooseTier(spec, { resolution, quality }, { strict: true });
        expect(tier).toMatchObject({ ok: true });
        if (!tier.ok) continue;
        const [one, four] = [1, 4].map((count) => priceOfImages(spec, { ...tier, count }));
        expectSold(model, one, `${resolution} ${quality}`);
        expect(four?.usd).toBe((one?.usd ?? 0n) * 4n);
      }
    }
  });

  it.each(named(all('inpaint').filter(({ spec }) => spec.pricing !== undefined)))(
    'edits with %s at a price',
    (_id, model) => {
      const { spec } = model;
      for (const resolution of [undefined, ...resolutionsOf(spec)]) {
        const tier = chooseTier(spec, { resolution, quality: undefined }, { strict: true });
        expect(tier).toMatchObject({ ok: true });
        if (!tier.ok) continue;
        const prices = Array.from({ length: mostInputImages(spec) }, (_, more) =>
          priceOfEdit(spec, { ...tier, imageCount: more + 1, count: 1 }),
        );
        for (const [more, price] of prices.entries()) expectSold(model, price, `${more + 1} ${resolution}`);
        const costs = prices.map((price) => price?.usd ?? -1n);
        expect(costs).toEqual(costs.toSorted(ascending));
      }
    },
  );

  it.each(named(all('upscale')))('upscales with %s at a price', (_id, model) => {
    const prices = [1, 2, 2.1, 4].map((scale) => priceOfUpscale(model.spec, scale));
    for (const price of prices) expectSold(model, price, 'an upscale');
    expect(prices[0]).toEqual(prices[1]);
    expect(prices[2]).toEqual(prices[3]);
    expect(prices[3]?.usd).toBeGreaterThanOrEqual(prices[0]?.usd ?? 0n);
  });
});

describe('a speech model', () => {
  const FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const;

  it.each(named(all('tts')))('speaks with %s at a known price', (_id, model) => {
    expectSold(model, priceOfSpeech(model, 1), 'a letter');
    expect(voiceOf(model, undefined)).toMatchObject({ ok: true });
    for (const voice of model.spec.voices ?? []) expect(voiceOf(model, voice)).toEqual({ ok: true, voice });
    expect(formatOf(model, undefined, FORMATS)).toMatchObject({ ok: true });
    for (const format of FORMATS) {
      const isListed = model.spec.supported_formats?.includes(format) ?? true;
      expect(formatOf(model, format, FORMATS).ok).toBe(isListed);
    }
  });

  it.each(named(all('asr')))('transcribes with %s at a known price', (_id, model) => {
    expectSold(model, priceOfRecording(model, 1), 'a millisecond');
  });

  it.each(named(all('voice-changer')))('changes voices with %s at a known price', (_id, model) => {
    for (let seconds = 1; seconds <= model.maxSourceAudioDurationSeconds; seconds += 1) {
      expectSold(model, quoteVoiceChanger(model, seconds), `${seconds} s`);
    }
  });
});

describe('a text model', () => {
  it.each(named([...all('text'), ...all('decision')]))('%s has a price for every use', (_id, model) => {
    const boundFor = (promptTokens: number) =>
      boundOf(model.spec.pricing, { promptTokens, outputTokens: 1, cachesForHour: true });
    expectSold(model, boundFor(1), 'two tokens');
    expect(boundFor(400_000).usd).toBeGreaterThan(boundFor(100).usd);
    if (model.kind !== 'text') return;
    const { availableContextTokens, maxCompletionTokens = 0, pricing } = model.spec;
    expect(maxCompletionTokens).toBeLessThanOrEqual(availableContextTokens);
    expect(pricing.extended?.context_token_threshold ?? 0).toBeLessThan(availableContextTokens);
  });
});
