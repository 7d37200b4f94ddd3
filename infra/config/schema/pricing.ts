/** `spec.pricing` by type of model: the shapes that `GET /models` shows; every leaf is a price in USD and diem. */
import { z } from 'zod';
import { amount, count, price, strictObject } from './primitives.ts';

const qualityTier = strictObject({
  low: price.exactOptional(),
  medium: price.exactOptional(),
  high: price.exactOptional(),
});

const byResolution = z.record(z.string().min(1).max(32), price);
const byQuality = z.record(z.string().min(1).max(32), qualityTier);
const upscaleFactors = strictObject({ '2x': price, '4x': price });

const tokenRates = {
  input: price,
  output: price,
  cache_input: price.exactOptional(),
  cache_write: price
    .exactOptional()
    .describe('Default: 1.25 times the input with a provider of kind `anthropic`, else the input.'),
  cache_write_1h: price
    .exactOptional()
    .describe('Kept for an hour. Default: twice the input with a provider of kind `anthropic`, else `cache_write`.'),
};

/** Text and decision models: per million tokens. */
export const tokenPricing = strictObject({
  ...tokenRates,
  extended: strictObject({ context_token_threshold: count(1, 1_000_000_000), ...tokenRates }).exactOptional(),
});

export const embeddingPricing = strictObject({ input: price, output: price.exactOptional() });

export const imagePricing = strictObject({
  generation: price.exactOptional(),
  resolutions: byResolution.exactOptional(),
  quality: byQuality.exactOptional(),
  upscale: upscaleFactors.exactOptional(),
}).refine((entry) => (entry.generation === undefined) !== (entry.resolutions === undefined), {
  error: 'exactly one of "generation" and "resolutions"',
});

export const upscalePricing = strictObject({ generation: price.exactOptional(), upscale: upscaleFactors });

export const inpaintPricing = strictObject({
  inpaint: price,
  resolutions: byResolution.exactOptional(),
  quality: byQuality.exactOptional(),
  inputImages: strictObject({ included: count(0, 1000), additional: price }).exactOptional(),
});

/** Per million characters. */
export const ttsPricing = strictObject({ input: price });

export const asrPricing = strictObject({ per_audio_second: price });

const durationTier = strictObject({
  usd: amount,
  diem: amount,
  min_seconds: count(0, 86_400).exactOptional(),
  max_seconds: count(1, 86_400).exactOptional(),
});

const seconds = z.string().regex(/^[1-9][0-9]{0,4}$/, 'a whole number of seconds, e.g. "60"');
const wholeMinutes = seconds.refine((key) => Number(key) % 60 === 0, 'whole minutes in seconds: "60", "120", …');

const atLeastOne = (tiers: Record<string, unknown>) => Object.keys(tiers).length > 0;

/** Voice changers: all lengths up to a number of whole minutes have the price of that tier. */
export const voiceChangerPricing = strictObject({
  durations: z.record(wholeMinutes, durationTier).refine(atLeastOne, 'at least one tier'),
});

const MUSIC_UNITS = ['generation', 'durations', 'per_second', 'per_thousand_characters'] as const;

export const musicPricing = strictObject({
  generation: price.exactOptional(),
  durations: z.record(seconds, durationTier).refine(atLeastOne, 'at least one tier').exactOptional(),
  per_second: price.exactOptional(),
  per_thousand_characters: price.exactOptional(),
}).refine((entry) => MUSIC_UNITS.filter((unit) => entry[unit] !== undefined).length === 1, {
  error: `exactly one of ${MUSIC_UNITS.join(', ')}`,
});

const VIDEO_UNITS = ['perSecond', 'perGeneration', 'perOutputSecond'] as const;

const videoResolutions = z
  .record(z.string().min(1).max(32), price)
  .refine(atLeastOne, 'at least one resolution with its price');
const byHeight = z
  .record(z.string().regex(/^[1-9][0-9]{1,4}$/, 'a height in pixels, e.g. "1080"'), price)
  .refine(atLeastOne, 'at least one height with its price');

/** Video prices are not in the catalogue: the quote route returns them. */
export const videoPrice = strictObject({
  perSecond: videoResolutions.exactOptional().describe('By resolution; `any` for all that are not named.'),
  perGeneration: videoResolutions.exactOptional().describe('By resolution; `any` for all that are not named.'),
  perOutputSecond: byHeight.exactOptional().describe('By the height of the output: each key up to itself.'),
  silent: videoResolutions.exactOptional().describe('Instead, where an order asks for no sound track.'),
  highFrameRate: strictObject({ above: z.number().min(1).max(240), factor: z.number().min(1).max(100) })
    .exactOptional()
    .describe('Of `perOutputSecond`: above this frame rate the price is multiplied.'),
}).refine((entry) => VIDEO_UNITS.filter((unit) => entry[unit] !== undefined).length === 1, {
  error: `exactly one of ${VIDEO_UNITS.join(', ')}`,
});
