/** Prices of images (IMAGE-6): pure functions of the entry and of the order. */
import { priceOf } from '../catalogue/model.ts';
import type { ByQuality, ByResolution, ImageSpec, InpaintSpec, Quality, UpscaleSpec } from '../catalogue/specs.ts';
import type { LedgerPrice } from '../ledger.ts';
import { plus } from '../text/price.ts';

/** Price of a rewritten prompt (IMAGE-7). */
export const ENHANCEMENT: LedgerPrice = { usd: 40_000_000n, diem: 40_000_000n };

/** Tier of a result; undefined when the model has none. */
export interface ImageTier {
  resolution: string | undefined;
  quality: Quality | undefined;
}

interface TierPrices {
  resolutions?: ByResolution;
  quality?: ByQuality;
}

/** Price of one result at a tier: by quality, otherwise by resolution, otherwise the flat one. */
function atTier(pricing: TierPrices, { resolution, quality }: ImageTier): LedgerPrice | undefined {
  if (resolution === undefined) return undefined;
  const tiers = pricing.quality?.[resolution];
  const published = (quality && tiers?.[quality]) ?? pricing.resolutions?.[resolution];
  return published && priceOf(published);
}

/** Price of `count` results from `imageCount` pictures. Undefined: the model has no price, and is offline. */
export function priceOfEdit(
  { pricing }: InpaintSpec,
  { imageCount, count, ...tier }: ImageTier & { imageCount: number; count: number },
): LedgerPrice | undefined {
  if (!pricing) return undefined;
  const edit = atTier(pricing, tier) ?? priceOf(pricing.inpaint);
  const { included, additional } = pricing.inputImages ?? {};
  if (additional === undefined) return times(edit, count);
  const each = plus(edit, times(priceOf(additional), Math.max(0, imageCount - (included ?? 0))));
  return times(each, count);
}

/** A model priced by resolution charges the price of its first one when the request has no priced one. */
export function priceOfImages(
  { pricing }: ImageSpec,
  { count, ...tier }: ImageTier & { count: number },
): LedgerPrice | undefined {
  const published = pricing.generation ?? Object.values(pricing.resolutions ?? {})[0];
  const each = atTier(pricing, tier) ?? (published && priceOf(published));
  return each && times(each, count);
}

/** One price up to a factor of two, another above. */
export function priceOfUpscale({ pricing }: UpscaleSpec, scale: number): LedgerPrice {
  return priceOf(pricing.upscale[scale <= 2 ? '2x' : '4x']);
}

function times({ usd, diem }: LedgerPrice, count: number): LedgerPrice {
  return { usd: usd * BigInt(count), diem: diem * BigInt(count) };
}
