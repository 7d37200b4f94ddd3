/**
 * Parameters of fal's image models. Source: the endpoint types of fal's own client (fal-ai/fal-js,
 * libs/client/src/types/endpoints.ts, version of August 2026) and the pages of the models.
 */
import type { ImageFormat } from '../../../domain/images/images.ts';
import { longestPrefixRow } from '../service.ts';

type Option =
  | 'negative_prompt'
  | 'guidance_scale'
  | 'num_inference_steps'
  | 'seed'
  | 'quality'
  | 'enable_web_search'
  | 'thinking_level'
  | 'enable_safety_checker';

type ImageSizing =
  /** `image_size` in pixels. */
  | 'pixels'
  /** `image_size`: the nearest of the three sizes of OpenAI's models. */
  | 'presets'
  /** `aspect_ratio`, and `resolution` if the request names a tier. */
  | 'ratio_and_tier'
  | 'ratio';

export interface FalImageFamily {
  sizing: ImageSizing;
  /** Whether one order makes several images (`num_images`); otherwise each image needs its own order. */
  several: boolean;
  /** Empty: there is no `output_format`. The first is the fallback for an unsupported format. */
  formats: readonly ImageFormat[];
  options: readonly Option[];
  /** Most permissive `safety_tolerance`; absent: no such field. */
  laxest?: string;
  /** Field for the sources of an edit. */
  sources: 'image_urls' | 'image_url';
  /** Mask field of models with a single source; absent: they take no mask. */
  mask?: 'mask_url' | 'mask_image_url';
  fixed?: Readonly<Record<string, string | number | boolean>>;
}

const ALL_FORMATS = ['png', 'jpeg', 'webp'] as const;
const TWO_FORMATS = ['png', 'jpeg'] as const;

/** Parameters of most diffusion endpoints of fal. Models ignore the fields that they do not know. */
const DIFFUSION: FalImageFamily = {
  sizing: 'pixels',
  several: true,
  formats: TWO_FORMATS,
  options: ['negative_prompt', 'guidance_scale', 'num_inference_steps', 'seed', 'enable_safety_checker'],
  sources: 'image_urls',
};
const NANO_BANANA: FalImageFamily = {
  sizing: 'ratio',
  several: true,
  formats: ALL_FORMATS,
  options: ['seed'],
  laxest: '6',
  sources: 'image_urls',
};
const NANO_BANANA_PRO: FalImageFamily = {
  ...NANO_BANANA,
  sizing: 'ratio_and_tier',
  options: ['seed', 'enable_web_search'],
};
const FLUX_2: FalImageFamily = {
  ...DIFFUSION,
  several: false,
  options: ['seed', 'enable_safety_checker'],
  laxest: '5',
};
const KONTEXT: FalImageFamily = {
  ...DIFFUSION,
  sizing: 'ratio',
  options: ['guidance_scale', 'seed'],
  laxest: '6',
  sources: 'image_url',
};
const GPT_IMAGE: FalImageFamily = {
  sizing: 'presets',
  several: true,
  formats: ALL_FORMATS,
  options: ['quality'],
  sources: 'image_urls',
};
const SEEDREAM: FalImageFamily = {
  ...DIFFUSION,
  formats: [],
  options: ['seed', 'enable_safety_checker'],
};
const QWEN_2: FalImageFamily = {
  ...DIFFUSION,
  formats: ALL_FORMATS,
  options: ['negative_prompt', 'seed', 'enable_safety_checker'],
};
const Z_IMAGE: FalImageFamily = {
  ...DIFFUSION,
  formats: ALL_FORMATS,
  options: ['guidance_scale', 'num_inference_steps', 'seed', 'enable_safety_checker'],
};
const WAN: FalImageFamily = {
  ...DIFFUSION,
  formats: [],
  options: ['negative_prompt', 'seed', 'enable_safety_checker'],
};
const IDEOGRAM: FalImageFamily = { ...DIFFUSION, formats: [], options: ['negative_prompt', 'seed'] };
const PHOTON: FalImageFamily = { ...DIFFUSION, sizing: 'ratio', several: false, formats: [], options: [] };

/** Key: whole leading segments of the endpoint id. The longest match wins. */
const FAMILIES: Readonly<Record<string, FalImageFamily>> = {
  'fal-ai/bytedance/seedream': SEEDREAM,
  'fal-ai/flux-2-flex': { ...FLUX_2, options: [...FLUX_2.options, 'guidance_scale', 'num_inference_steps'] },
  'fal-ai/flux-2-max': FLUX_2,
  'fal-ai/flux-2-pro': FLUX_2,
  'fal-ai/flux-pro/kontext': KONTEXT,
  'fal-ai/flux-pro/kontext/max/multi': { ...KONTEXT, sources: 'image_urls' },
  'fal-ai/flux-pro/kontext/multi': { ...KONTEXT, sources: 'image_urls' },
  'fal-ai/flux-pro/v1.1-ultra': { ...KONTEXT, options: ['seed'] },
  'fal-ai/flux-pro/v1/fill': {
    ...DIFFUSION,
    options: ['seed'],
    laxest: '6',
    sources: 'image_url',
    mask: 'mask_url',
  },
  'fal-ai/gpt-image-1': GPT_IMAGE,
  'fal-ai/gpt-image-1-mini': GPT_IMAGE,
  'fal-ai/gpt-image-1.5': GPT_IMAGE,
  'fal-ai/ideogram/v3': IDEOGRAM,
  'fal-ai/ideogram/v3/edit': { ...IDEOGRAM, sources: 'image_url', mask: 'mask_url' },
  'fal-ai/luma-photon': PHOTON,
  // `strength`, the deviation from the source, is required.
  'fal-ai/luma-photon/flash/modify': { ...PHOTON, sources: 'image_url', fixed: { strength: 0.8 } },
  'fal-ai/luma-photon/modify': { ...PHOTON, sources: 'image_url', fixed: { strength: 0.8 } },
  'fal-ai/nano-banana': NANO_BANANA,
  'fal-ai/nano-banana-2': { ...NANO_BANANA_PRO, options: [...NANO_BANANA_PRO.options, 'thinking_level'] },
  'fal-ai/nano-banana-pro': NANO_BANANA_PRO,
  'fal-ai/qwen-image-2': QWEN_2,
  'fal-ai/qwen-image-edit': { ...DIFFUSION, sources: 'image_url' },
  'fal-ai/qwen-image-edit/inpaint': { ...DIFFUSION, sources: 'image_url', mask: 'mask_url' },
  'fal-ai/qwen-image-max': QWEN_2,
  'fal-ai/wan-25-preview': WAN,
  'fal-ai/wan/v2.7': { ...WAN, several: false },
  'fal-ai/z-image': Z_IMAGE,
  'fal-ai/z-image/turbo/inpaint': { ...Z_IMAGE, sources: 'image_url', mask: 'mask_image_url' },
  'wan/v2.6': WAN,
};

export function imageFamilyOf(endpoint: string): FalImageFamily {
  return longestPrefixRow(FAMILIES, endpoint) ?? DIFFUSION;
}
