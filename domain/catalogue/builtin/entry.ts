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
 * Provider entries of published models, named like their kind. Only `elevenlabs` exists without configuration. The kind
 * lists the models that it serves (providers/<kind>/publishedModels.ts); any other needs a mapping of the operator.
 */
export type BuiltInProvider = 'openai' | 'anthropic' | 'elevenlabs' | 'fal' | 'replicate';

export interface Identity {
  id: string;
  provider: BuiltInProvider;
  privacy: ModelBase['privacy'];
  traits?: readonly string[];
}

/** Shared members of an entry. No display names are published, so the name is the id. */
export function base({ id, provider, privacy, traits }: Identity): ModelBase {
  return {
    id,
    provider,
    privacy,
    name: id,
    description: '',
    modelSource: '',
    created: DEFAULT_CREATED,
    ...(traits === undefined ? {} : { listing: { traits } }),
  };
}
