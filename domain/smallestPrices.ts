/** Smallest prices of a route: an account that can pay none of them is refused before any work. */
import { type Model, type MusicModel, type Price, priceOf, type VideoModel } from './catalogue/model.ts';
import type { PublishedPrice, TokenPricing } from './catalogue/specs.ts';
import type { LedgerPrice } from './ledger.ts';

/** 0.0001 USD, for models that bill by tokens, seconds or characters. */
export const MIN_PRICE: LedgerPrice = { usd: 100_000n, diem: 100_000n };

export interface SmallestPrices {
  /** An account must be able to pay one of them. None is higher than another in every currency. */
  paid: readonly LedgerPrice[];
  /** True when one of the models costs nothing. */
  hasFree: boolean;
}

/** Smallest prices of a route that sells these models; MIN_PRICE without models. */
export function smallestPricesOf(models: readonly Model[]): SmallestPrices {
  return toSmallestPrices(models.flatMap(pricesOf));
}

export function toSmallestPrices(prices: readonly Price[]): SmallestPrices {
  const smallest: LedgerPrice[] = [];
  for (const price of prices.filter((each) => !isFree(each)).map(atLeastMin)) {
    if (smallest.some((other) => isAtMost(other, price))) continue;
    const kept = smallest.filter((other) => !isAtMost(price, other));
    smallest.splice(0, smallest.length, ...kept, price);
  }
  return { paid: smallest.length > 0 ? smallest : [MIN_PRICE], hasFree: prices.some(isFree) };
}

function isFree({ usd, diem }: Price): boolean {
  return usd === 0n && diem === 0n;
}

/** Zero in only one currency means that the model is not sold for it. */
function atLeastMin({ usd, diem }: Price): LedgerPrice {
  return {
    usd: usd === 0n || usd > MIN_PRICE.usd ? usd : MIN_PRICE.usd,
    diem: diem === 0n || diem > MIN_PRICE.diem ? diem : MIN_PRICE.diem,
  };
}

/** Whether every account that can pay `price` can also pay `other`. */
function isAtMost(other: LedgerPrice, price: LedgerPrice): boolean {
  return isAmountAtMost(other.usd, price.usd) && isAmountAtMost(other.diem, price.diem);
}

function isAmountAtMost(other: bigint, amount: bigint): boolean {
  return amount === 0n || (other !== 0n && other <= amount);
}

/** Prices of the cheapest orders of a model; empty for a model without a price. */
function pricesOf(model: Model): Price[] {
  switch (model.kind) {
    case 'text':
    case 'decision':
      return [rateFloor(tokenRates(model.spec.pricing))];
    case 'embedding':
      return [rateFloor([model.spec.pricing.input])];
    case 'asr':
      return [rateFloor([model.spec.pricing.per_audio_second])];
    case 'tts':
      return [rateFloor([model.spec.pricing.input])];
    case 'image': {
      const { generation, resolutions, quality } = model.spec.pricing;
      return tierPrices(generation, resolutions, quality);
    }
    case 'inpaint': {
      const { inpaint, resolutions, quality } = model.spec.pricing ?? {};
      return tierPrices(inpaint, resolutions, quality);
    }
    case 'upscale':
      return Object.values(model.spec.pricing.upscale).map(priceOf);
    case 'music':
      return musicPrices(model);
    case 'video':
      return videoPrices(model);
    case 'voice-changer':
      return model.durations.map(({ price }) => price);
  }
}

function tokenRates({ extended, ...rates }: TokenPricing): PublishedPrice[] {
  return [rates, extended].flatMap((each) => Object.values(each ?? {})).filter(isPublished);
}

/** Whether a member of a price list is a price; others are thresholds and factors. */
function isPublished(value: unknown): value is PublishedPrice {
  return typeof value === 'object' && value !== null && 'usd' in value && 'diem' in value;
}

function musicPrices({ spec }: MusicModel): Price[] {
  const { generation, durations, per_second, per_thousand_characters } = spec.pricing;
  if (per_thousand_characters) return [rateFloor([per_thousand_characters])];
  const shortest = Math.min(...(spec.duration_options ?? []), spec.min_duration ?? Number.POSITIVE_INFINITY);
  if (per_second) return [times(priceOf(per_second), shortest)];
  return [generation, ...Object.values(durations ?? {})].filter(isPublished).map(priceOf);
}

function videoPrices({ price = {}, spec }: VideoModel): Price[] {
  const { perSecond, perGeneration, perOutputSecond, silent } = price;
  const { durations = [], model_type, video_input } = spec.constraints ?? {};
  const takesLengthOfSource = model_type === 'video' || video_input === true;
  const shortest = takesLengthOfSource ? 1 : Math.min(...durations.map(Number.parseFloat));
  const isPerSecond = perGeneration === undefined && perOutputSecond === undefined;
  const bySecond = isPerSecond ? [perSecond, silent] : [];
  const whole = isPerSecond ? [] : [perGeneration, perOutputSecond, silent];
  return [
    ...bySecond.flatMap((prices) => Object.values(prices ?? {})).map((each) => times(priceOf(each), shortest)),
    ...whole.flatMap((prices) => Object.values(prices ?? {})).map(priceOf),
  ];
}

/** At least one second: some models take the length of their source, or state no shortest length. */
function times({ usd, diem }: Price, seconds: number): Price {
  const whole = BigInt(Number.isFinite(seconds) ? Math.max(1, Math.floor(seconds)) : 1);
  return { usd: usd * whole, diem: diem * whole };
}

type Tiers = Readonly<Record<string, PublishedPrice>>;

function tierPrices(
  plain: PublishedPrice | undefined,
  resolutions: Tiers | undefined,
  quality: Readonly<Record<string, object>> | undefined,
): Price[] {
  const ofQuality = Object.values(quality ?? {}).flatMap((tiers) => Object.values(tiers));
  return [plain, ...Object.values(resolutions ?? {}), ...ofQuality].filter(isPublished).map(priceOf);
}

/** Smallest price of small units: zero only where every rate is zero. */
function rateFloor(rates: readonly PublishedPrice[]): Price {
  return {
    usd: rates.some(({ usd }) => usd > 0) ? MIN_PRICE.usd : 0n,
    diem: rates.some(({ diem }) => diem > 0) ? MIN_PRICE.diem : 0n,
  };
}
