/** Edit models (MODEL-5): prices per edit, per resolution, and for input images above the included number. */
import type { InpaintModel, ModelBase } from '../model.ts';
import type { InpaintSpec } from '../specs.ts';
import { type BuiltInProvider, base, byQuality, price, prices, type QualityAmounts } from './entry.ts';

interface InpaintRow {
  id: string;
  provider?: BuiltInProvider;
  privacy: 'private' | 'anonymized';
  /** USD per edit. */
  price: number;
  resolutions?: Record<string, number>;
  quality?: QualityAmounts;
  inputImages?: { included: number; additional: number };
  traits?: readonly string[];
}

const ROWS: readonly InpaintRow[] = [
  { id: 'firered-image-edit', privacy: 'private', price: 0.04, traits: ['default'] },
  {
    id: 'flux-2-max-edit',
    privacy: 'anonymized',
    price: 0.12,
    inputImages: { included: 1, additional: 0.0345 },
  },
  {
    id: 'gpt-image-1-5-edit',
    provider: 'openai',
    privacy: 'anonymized',
    price: 0.31,
    inputImages: { included: 1, additional: 0.02806 },
  },
  {
    id: 'gpt-image-2-edit',
    provider: 'openai',
    privacy: 'anonymized',
    price: 0.34,
    resolutions: { '1K': 0.34, '2K': 0.52, '4K': 0.84 },
    quality: {
      '1K': { low: 0.03, medium: 0.08, high: 0.34 },
      '2K': { low: 0.03, medium: 0.14, high: 0.52 },
      '4K': { low: 0.04, medium: 0.22, high: 0.84 },
    },
    inputImages: { included: 1, additional: 0.0092 },
  },
  {
    id: 'grok-imagine-edit',
    provider: 'openai',
    privacy: 'private',
    price: 0.03,
    resolutions: { '1K': 0.03, '2K': 0.04 },
    inputImages: { included: 0, additional: 0.0023 },
  },
  {
    id: 'grok-imagine-image-2-0-edit',
    provider: 'openai',
    privacy: 'private',
    price: 0.07,
    resolutions: { '1K': 0.07, '2K': 0.1 },
    inputImages: { included: 0, additional: 0.0115 },
  },
  {
    id: 'grok-imagine-quality-edit',
    provider: 'openai',
    privacy: 'private',
    price: 0.06,
    resolutions: { '1K': 0.06, '2K': 0.09 },
    inputImages: { included: 0, additional: 0.0115 },
  },
  { id: 'luma-uni-1-edit', privacy: 'anonymized', price: 0.06 },
  { id: 'luma-uni-1-max-edit', privacy: 'anonymized', price: 0.13 },
  {
    id: 'nano-banana-2-edit',
    privacy: 'anonymized',
    price: 0.1,
    resolutions: { '1K': 0.1, '2K': 0.14, '4K': 0.19 },
  },
  { id: 'nano-banana-2-lite-edit', privacy: 'anonymized', price: 0.06 },
  {
    id: 'nano-banana-pro-edit',
    privacy: 'anonymized',
    price: 0.18,
    resolutions: { '1K': 0.18, '2K': 0.23, '4K': 0.35 },
  },
  { id: 'qwen-edit-uncensored', privacy: 'private', price: 0.04 },
  { id: 'qwen-image-2-edit', privacy: 'anonymized', price: 0.05 },
  {
    id: 'qwen-image-2-pro-edit',
    privacy: 'anonymized',
    price: 0.1,
  },
  {
    id: 'qwen-image-3-edit',
    privacy: 'anonymized',
    price: 0.04,
    resolutions: { '1K': 0.04, '2K': 0.04 },
    inputImages: { included: 0, additional: 0.00345 },
  },
  {
    id: 'qwen-image-3-pro-edit',
    privacy: 'anonymized',
    price: 0.05,
    resolutions: { '1K': 0.05, '2K': 0.09 },
    inputImages: { included: 0, additional: 0.00345 },
  },
  {
    id: 'seedream-v4-edit',
    privacy: 'anonymized',
    price: 0.05,
  },
  {
    id: 'seedream-v5-lite-edit',
    privacy: 'anonymized',
    price: 0.05,
  },
  {
    id: 'seedream-v5-pro-edit',
    privacy: 'anonymized',
    price: 0.06,
    resolutions: { '1K': 0.06, '2K': 0.11 },
    inputImages: { included: 1, additional: 0.00345 },
  },
  { id: 'wan-2-7-pro-edit', privacy: 'anonymized', price: 0.094 },
];

/** Newer ids without published price and privacy: offline, and classed as not private. */
const UNPRICED = [
  'gpt-image-2-5-flare-edit',
  'gpt-image-2-5-sunburst-edit',
  'muse-image-edit',
  'ideogram-v4-5-edit',
] as const;

export const INPAINT_MODELS: readonly InpaintModel[] = [
  ...ROWS.map((row) => ({
    ...inpaint(base({ provider: 'fal', ...row })),
    spec: { pricing: pricingOf(row) },
  })),
  ...UNPRICED.map((id) => inpaint(base({ id, provider: 'fal', privacy: 'anonymized' }))),
];

function inpaint(shared: ModelBase): InpaintModel {
  return { ...shared, kind: 'inpaint', type: 'inpaint', spec: {} };
}

function pricingOf({ price: amount, resolutions, quality, inputImages }: InpaintRow): InpaintSpec['pricing'] & object {
  return {
    inpaint: price(amount),
    ...(resolutions === undefined ? {} : { resolutions: prices(resolutions) }),
    ...(quality === undefined ? {} : { quality: byQuality(quality) }),
    ...(inputImages === undefined
      ? {}
      : { inputImages: { included: inputImages.included, additional: price(inputImages.additional) } }),
  };
}
