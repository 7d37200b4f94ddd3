/** Converts image orders to inputs of fal's models. */
import { FareboxError } from '../../../domain/errors.ts';
import type { PixelSize } from '../../../domain/images/images.ts';
import { ASPECT_RATIOS, type ImageFormat } from '../../../domain/images/images.ts';
import { nearestRatio, ratioOf, sizeOfRatio } from '../../shared/imageSizes.ts';
import type { ImageEdit, ImageOrder } from '../../shared/mediaProvider.ts';
import { definedFields, type Fields } from '../../shared/textFailures.ts';
import { type FalImageFamily, imageFamilyOf } from './imageFamilies.ts';

/** Returns the inputs that together make `order.count` images. */
export function generationInputs(order: ImageOrder): Fields[] {
  const family = imageFamilyOf(order.upstreamModel);
  const { count, seed, guidance, steps } = order;
  const input = definedFields({
    ...family.fixed,
    prompt: styled(order),
    ...sizeFields(family, order),
    ...sharedFields(family, order),
    ...only(family, {
      negative_prompt: order.negativePrompt,
      guidance_scale: guidance,
      num_inference_steps: steps,
      seed,
      enable_web_search: order.searchesWeb || undefined,
    }),
  });
  if (family.several) return [count === 1 ? input : { ...input, num_images: count }];
  // The same seed would repeat the image.
  return Array.from({ length: count }, (_, index) =>
    'seed' in input && seed !== undefined ? { ...input, seed: seed + index } : input,
  );
}

/** `urls`: of `edit.images`, in their order. */
export function editInput(edit: ImageEdit, urls: readonly string[]): Fields {
  const family = imageFamilyOf(edit.upstreamModel);
  const [base, mask] = urls;
  const { sources } = family;
  return definedFields({
    ...family.fixed,
    prompt: edit.prompt,
    ...(sources === 'image_urls' ? { image_urls: urls } : { image_url: base }),
    ...(sources === 'image_url' && family.mask !== undefined && { [family.mask]: mask }),
    ...editSize(family, edit),
    ...sharedFields(family, edit),
  });
}

/** Throws FareboxError if the model takes another number of images. */
export function checkSources({ upstreamModel, images }: Pick<ImageEdit, 'upstreamModel' | 'images'>): void {
  const { sources, mask } = imageFamilyOf(upstreamModel);
  if (sources === 'image_urls') return;
  const taken = mask === undefined ? 1 : 2;
  if (images.length === taken) return;
  const what = mask === undefined ? 'one image' : 'two images: the base and the mask';
  throw new FareboxError({ code: 'invalid_request', message: `The model takes exactly ${what}.` });
}

/** Adds the style to the prompt: no fal model takes Farebox's list of styles. */
function styled({ prompt, style }: ImageOrder): string {
  return style === undefined ? prompt : `${prompt}\n\nStyle: ${style}.`;
}

function sharedFields(family: FalImageFamily, order: ImageOrder | ImageEdit): Fields {
  const { safeMode, quality, skipsThinking, format } = order;
  return {
    ...only(family, {
      quality,
      thinking_level: skipsThinking ? 'minimal' : undefined,
      enable_safety_checker: safeMode,
    }),
    ...(family.laxest !== undefined && { safety_tolerance: safeMode ? STRICT : family.laxest }),
    output_format: formatOf(family, format),
  };
}

const STRICT = '2';

function formatOf({ formats }: FalImageFamily, format: ImageFormat): ImageFormat | undefined {
  return formats.includes(format) ? format : formats[0];
}

function only({ options }: FalImageFamily, fields: Fields): Fields {
  const known: readonly string[] = options;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => known.includes(name)));
}

interface RequestedSize {
  width?: number | undefined;
  height?: number | undefined;
  aspectRatio?: string | undefined;
  resolution?: string | undefined;
}

function sizeFields({ sizing }: FalImageFamily, { width, height, aspectRatio, resolution }: RequestedSize): Fields {
  const exact = width === undefined || height === undefined ? undefined : { width, height };
  const named = ratioOf(aspectRatio);
  const tiered = named === undefined && resolution === undefined ? undefined : sizeOfRatio(named ?? 1, resolution);
  const size = exact ?? tiered;
  switch (sizing) {
    case 'pixels':
      return { image_size: size };
    case 'presets':
      return { image_size: size && presetOf(size) };
    case 'ratio_and_tier':
      return { aspect_ratio: aspectRatio ?? (exact && nearestRatio(exact, ASPECT_RATIOS)), resolution };
    case 'ratio':
      return { aspect_ratio: aspectRatio ?? (exact && nearestRatio(exact, ASPECT_RATIOS)) };
  }
}

/** An edit without a ratio keeps that of its base. */
function editSize(family: FalImageFamily, { images, aspectRatio, resolution }: ImageEdit): Fields {
  const [base] = images;
  const wantsSize = aspectRatio !== undefined || resolution !== undefined;
  if (family.sizing === 'pixels' || family.sizing === 'presets') {
    if (!wantsSize) return {};
    const ratio = ratioOf(aspectRatio) ?? (base && base.width / base.height) ?? 1;
    return sizeFields(family, sizeOfRatio(ratio, resolution));
  }
  return sizeFields(family, { aspectRatio, resolution });
}

const PRESETS: Readonly<Record<string, string>> = {
  '1:1': '1024x1024',
  '3:2': '1536x1024',
  '2:3': '1024x1536',
};

function presetOf(size: PixelSize): string | undefined {
  return PRESETS[nearestRatio(size, ['1:1', '3:2', '2:3'])];
}
