/**
 * Differences between families of image models. Sources: OpenAI's API reference ("Create image", "Create image edit")
 * and xAI's guide to images. xAI uses ratios and tiers instead of sizes, and JSON for edits.
 */
import type { Quality } from '../../../domain/catalogue/specs.ts';
import { nearestRatio } from '../../shared/imageSizes.ts';
import { type Sizing, sizeOf, type WantedSize } from './imageSizes.ts';

export interface OpenAiImageFamily {
  /** Request fields for the size. */
  size: (wanted: WantedSize) => Record<string, string>;
  quality: (quality: Quality) => string | undefined;
  /** Supports `output_format`. */
  choosesFormat: boolean;
  /** Supports `moderation` when generating. */
  moderates: boolean;
  /** Replies with URLs unless the request wants base64. */
  asksForBase64: boolean;
  /** Sampling fields of open servers: `negative_prompt`, `num_inference_steps`, `guidance_scale`, `seed`. */
  sampling: boolean;
  edits: 'form' | 'json';
}

const same = (quality: Quality) => quality;

const GPT: OpenAiImageFamily = {
  size: sized({ kind: 'bounded' }),
  quality: same,
  choosesFormat: true,
  moderates: true,
  asksForBase64: false,
  sampling: false,
  edits: 'form',
};
const GPT_1: OpenAiImageFamily = {
  ...GPT,
  size: sized({ kind: 'listed', sizes: ['1024x1024', '1536x1024', '1024x1536'] }),
};
const PLAIN = { ...GPT, choosesFormat: false, moderates: false, asksForBase64: true } as const;
const DALL_E_3: OpenAiImageFamily = {
  ...PLAIN,
  size: sized({ kind: 'listed', sizes: ['1024x1024', '1792x1024', '1024x1792'] }),
  quality: (quality) => (quality === 'high' ? 'hd' : 'standard'),
};
const DALL_E_2: OpenAiImageFamily = {
  ...PLAIN,
  size: sized({ kind: 'listed', sizes: ['256x256', '512x512', '1024x1024'] }),
  quality: () => undefined,
};
const GROK: OpenAiImageFamily = { ...PLAIN, size: inWords, edits: 'json' };
/** vLLM, SGLang, LocalAI and similar servers. */
const OTHERS: OpenAiImageFamily = { ...PLAIN, size: sized({ kind: 'any' }), sampling: true };

/** The first match wins. */
const FAMILIES: readonly [RegExp, OpenAiImageFamily][] = [
  [/^(gpt-image-1|chatgpt-image)/, GPT_1],
  [/^gpt-image/, GPT],
  [/^dall-e-2/, DALL_E_2],
  [/^dall-e/, DALL_E_3],
  [/^grok-/, GROK],
];

export function familyOf(upstreamModel: string): OpenAiImageFamily {
  return FAMILIES.find(([name]) => name.test(upstreamModel))?.[1] ?? OTHERS;
}

function sized(sizing: Sizing): OpenAiImageFamily['size'] {
  return (wanted) => {
    const size = sizeOf(wanted, sizing);
    return size === undefined ? {} : { size };
  };
}

function inWords({ width, height, aspectRatio, resolution }: WantedSize): Record<string, string> {
  const [across, down] = aspectRatio?.split(':').map(Number) ?? [width, height];
  const shape = across && down ? nearestRatio({ width: across, height: down }, SHAPES) : undefined;
  return {
    ...(shape !== undefined && { aspect_ratio: shape }),
    ...(resolution !== undefined && { resolution: resolution.toLowerCase() }),
  };
}

const SHAPES = ['1:1', '3:2', '2:3', '4:3', '3:4', '16:9', '9:16', '2:1', '1:2', '20:9', '9:20'] as const;
