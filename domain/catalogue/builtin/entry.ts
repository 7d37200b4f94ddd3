/** Shared helpers of the tables of built-in models. */
import { DEFAULT_CREATED, type ModelBase } from '../model.ts';
import type { ByQuality, PublishedPrice, Quality } from '../specs.ts';

/** The published list states one number for both currencies. */
export function price(amount: number): PublishedPrice {
  return { usd: amount, diem: amount };
}

/** Prices by resolution, quality or any other key. */
export function prices<Amounts extends Readonly<Record<string, number>>>(
  amounts: Amounts,
): { [Key in keyof Amounts]: PublishedPrice } {
  const entries = Object.entries(amounts).map(([key, amount]) => [key, price(amount)]);
  return Object.fromEntries(entries) as { [Key in keyof Amounts]: PublishedPrice };
}

/** USD by resolution and quality. */
export type QualityAmounts = Readonly<Record<string, Readonly<Partial<Record<Quality, number>>>>>;

export function byQuality(amounts: QualityAmounts): ByQuality {
  return Object.fromEntries(Object.entries(amounts).map(([resolution, tiers]) => [resolution, prices(tiers)]));
}

/**
 * The provider entries that built-in models name. `local` and `elevenlabs` exist without configuration; the others are
 * named like their kind, and a model stays offline until the operator configures one of that name.
 */
export type BuiltInProvider = 'openai' | 'anthropic' | 'elevenlabs' | 'fal' | 'replicate';

export interface Identity {
  id: string;
  provider: BuiltInProvider;
  /** Name at the provider; default: the id. */
  upstreamModel?: string;
  privacy: ModelBase['privacy'];
  traits?: readonly string[];
}

/** Shared members of an entry. No display names are published, so the name is the id. */
export function base({ id, provider, upstreamModel = id, privacy, traits }: Identity): ModelBase {
  return {
    id,
    provider,
    upstreamModel,
    privacy,
    name: id,
    description: '',
    modelSource: '',
    created: DEFAULT_CREATED,
    ...(traits === undefined ? {} : { listing: { traits } }),
  };
}
