/** Image models (MODEL-5): prices per image, and the upscaler. Their constraints are not published. */
import type { ImageModel, UpscaleModel } from '../model.ts';
import type { ImageSpec } from '../specs.ts';
import { type BuiltInProvider, base, byQuality, price, prices, type QualityAmounts } from './entry.ts';

interface ImageRow {
  id: string;
  provider?: BuiltInProvider;
  privacy: 'private' | 'anonymized';
  /** USD per image; either one price, or one per resolution. */
  price: number | Record<string, number>;
  quality?: QualityAmounts;
  traits?: readonly string[];
  imageUse?: ImageModel['imageUse'];
}

const ROWS: readonly ImageRow[] = [
  {
    id: 'z-image-turbo',
    privacy: 'private',
    price: 0.01,
    traits: ['default', 'fastest'],
  },
  { id: 'venice-sd35', privacy: 'private', price: 0.01, traits: ['eliza-default'] },
  { id: 'chroma', privacy: 'private', price: 0.01 },
  { id: 'lustify-v8', privacy: 'private', price: 0.01, traits: ['most_uncensored'] },
  {
    id: 'qwen-image',
    privacy: 'anonymized',
    price: 0.03,
    traits: ['highest_quality'],
  },
  { id: 'qwen-image-3', privacy: 'anonymized', price: { '1K': 0.04, '2K': 0.04 } },
  {
    id: 'nano-banana-2',
    privacy: 'anonymized',
    price: { '1K': 0.1, '2K': 0.14, '4K': 0.19 },
  },
  {
    id: 'nano-banana-pro',
    privacy: 'anonymized',
    price: { '1K': 0.18, '2K': 0.23, '4K': 0.35 },
  },
  { id: 'seedream-v5-pro', privacy: 'anonymized', price: { '1K': 0.06, '2K': 0.11 } },
  {
    id: 'gpt-image-2',
    provider: 'openai',
    privacy: 'anonymized',
    price: { '1K': 0.27, '2K': 0.51, '4K': 0.84 },
    quality: {
      '1K': { low: 0.02, medium: 0.07, high: 0.26 },
      '2K': { low: 0.03, medium: 0.13, high: 0.5 },
      '4K': { low: 0.05, medium: 0.21, high: 0.83 },
    },
  },
  {
    id: 'grok-imagine-image-2-0',
    provider: 'openai',
    privacy: 'private',
    price: { '1K': 0.07, '2K': 0.1 },
    quality: { '1K': { low: 0.05, medium: 0.07 }, '2K': { low: 0.07, medium: 0.1 } },
  },
  { id: 'flux-2-pro', privacy: 'anonymized', price: 0.03 },
  { id: 'krea-v2-large', privacy: 'anonymized', price: 0.07 },
  {
    id: 'bria-bg-remover',
    privacy: 'anonymized',
    price: 0.03,
    imageUse: 'cutout',
  },
];

const UPSCALE = prices({ '2x': 0.02, '4x': 0.08 });

export const IMAGE_MODELS: readonly ImageModel[] = ROWS.map((row) => ({
  ...base({ provider: 'fal', ...row }),
  kind: 'image',
  type: 'image',
  ...(row.imageUse === undefined ? {} : { imageUse: row.imageUse }),
  spec: { pricing: pricingOf(row) },
}));

function pricingOf(row: ImageRow): ImageSpec['pricing'] {
  return {
    ...(typeof row.price === 'number' ? { generation: price(row.price) } : { resolutions: prices(row.price) }),
    ...(row.quality === undefined ? {} : { quality: byQuality(row.quality) }),
    upscale: UPSCALE,
  };
}

export const UPSCALE_MODELS: readonly UpscaleModel[] = [
  {
    ...base({
      id: 'upscaler',
      provider: 'fal',
      privacy: 'private',
    }),
    kind: 'upscale',
    type: 'upscale',
    spec: { pricing: { generation: price(0.01), upscale: UPSCALE } },
  },
];
