/** Price of a video: a function of the order and, when a source decides the length, of its measurements. */
import type { VideoModel } from '../catalogue/model.ts';
import type { ByResolution, PublishedPrice } from '../catalogue/specs.ts';
import { type Terms, termsOf } from './terms.ts';

/** Parameters of the price, beside the source. */
export interface VideoUsage {
  resolution?: string;
  durationSeconds?: number;
  /** No sound track was ordered. */
  silent?: boolean;
  upscale?: { factor: number; targetFps?: number; slowdownFactor?: number };
}

/** Measurements of the source video. */
export interface MeasuredVideo {
  seconds: number;
  height: number;
  framesPerSecond: number;
}

/** Undefined when the entry has no price for it, or when it depends on an absent source. */
export function priceVideo(model: VideoModel, usage: VideoUsage, source?: MeasuredVideo): Terms | undefined {
  const { price } = model;
  if (price === undefined) return undefined;
  if (price.perOutputSecond) return source && priceOfOutput(model, usage, source);
  const byResolution = usage.silent === true ? (price.silent ?? unit(price)) : unit(price);
  const each = byResolution && atResolution(byResolution, usage.resolution);
  if (each === undefined) return undefined;
  const resolution = usage.resolution === undefined ? '' : `-${usage.resolution.toLowerCase()}`;
  if (price.perGeneration) {
    return termsOf({
      sku: `${model.id}${resolution}-generation`,
      unit: 'generation',
      each,
      thousandths: 1_000n,
    });
  }
  const seconds = source === undefined ? usage.durationSeconds : wholeSeconds(source.seconds);
  if (seconds === undefined) return undefined;
  const thousandths = BigInt(seconds) * 1_000n;
  return termsOf({ sku: `${model.id}${resolution}-second`, unit: 'second', each, thousandths });
}

function unit({ perSecond, perGeneration }: NonNullable<VideoModel['price']>): ByResolution | undefined {
  return perGeneration ?? perSecond;
}

/** Rounds up to whole seconds, but ignores rounding by a sample clock. */
export function wholeSeconds(seconds: number): number {
  return Math.max(1, Math.ceil(seconds - 1e-3));
}

function atResolution(prices: ByResolution, resolution: string | undefined): PublishedPrice | undefined {
  const named = resolution !== undefined && Object.hasOwn(prices, resolution) ? prices[resolution] : undefined;
  return named ?? prices.any;
}

function priceOfOutput(model: VideoModel, usage: VideoUsage, source: MeasuredVideo): Terms | undefined {
  const { factor = 1, targetFps, slowdownFactor = 1 } = usage.upscale ?? {};
  const height = source.height * factor;
  const tier = tierOf(model.price?.perOutputSecond ?? {}, height);
  if (tier === undefined) return undefined;
  const rate = targetFps ?? source.framesPerSecond;
  const { highFrameRate } = model.price ?? {};
  const fast = highFrameRate !== undefined && rate > highFrameRate.above;
  return termsOf({
    sku: `${model.id}-${tier.ceiling}p${fast ? '-fast' : ''}-second`,
    unit: 'second',
    each: tier.price,
    thousandths: BigInt(wholeSeconds(source.seconds * slowdownFactor)) * 1_000n,
    ...(fast ? { factor: highFrameRate.factor } : {}),
  });
}

/** Lowest ceiling that the height does not exceed; above the last one its price applies (VIDEO-5). */
function tierOf(prices: ByResolution, height: number): { ceiling: number; price: PublishedPrice } | undefined {
  const ceilings = Object.keys(prices)
    .map(Number)
    .sort((left, right) => left - right);
  const ceiling = ceilings.find((most) => height <= most) ?? ceilings.at(-1);
  const price = prices[String(ceiling)];
  return ceiling === undefined || price === undefined ? undefined : { ceiling, price };
}
