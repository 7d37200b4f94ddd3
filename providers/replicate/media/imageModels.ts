/**
 * Input names of the service's image models. Source: the input schema that the service publishes for each version
 * (replicate.com/<owner>/<name>/versions/<version>/api).
 */
import { FareboxError } from '../../../domain/errors.ts';
import { ASPECT_RATIOS, type ImageFormat } from '../../../domain/images/images.ts';
import { nearestRatio } from '../../shared/imageSizes.ts';
import type { ImageEdit, ImageOrder } from '../../shared/mediaProvider.ts';
import type { Fields } from '../../shared/textFailures.ts';
import type { SentMedium } from '../mediaInputs.ts';

interface ImageModel {
  /** `ratio`: `aspect_ratio`; `custom`: the same, or `custom` with width and height; `pixels`: width and height. */
  sizing: 'ratio' | 'custom' | 'pixels';
  /** Field for a tier ("2K"). */
  tier?: 'resolution' | 'size';
  /** Field for the sources of an edit: one file or a list; absent: no edits. */
  source?: { name: string; list: boolean };
  mask?: string;
  /** `aspect_ratio` of an edit without one; absent: not sent. */
  sameRatio?: 'match_input_image';
  /** Names of supported fields. */
  count?: 'num_outputs';
  negative?: 'negative_prompt';
  guidance?: 'guidance' | 'guidance_scale' | 'cfg';
  steps?: 'num_inference_steps' | 'steps';
  seed?: 'seed';
  /** The model's name of each format; absent: the model chooses the format. */
  formats?: Partial<Record<ImageFormat, string>>;
  safety?: 'disable_safety_checker' | { tolerance: string } | 'safety_filter_level';
}

const JPG_PNG = { png: 'png', jpeg: 'jpg' };
const ALL_FORMATS = { ...JPG_PNG, webp: 'webp' };
const LAX = { tolerance: 'safety_tolerance' };

const FLUX_1: ImageModel = {
  sizing: 'ratio',
  count: 'num_outputs',
  steps: 'num_inference_steps',
  seed: 'seed',
  formats: ALL_FORMATS,
  safety: 'disable_safety_checker',
};
const FLUX_PRO: ImageModel = { sizing: 'custom', seed: 'seed', formats: ALL_FORMATS, safety: LAX };
const KONTEXT: ImageModel = {
  sizing: 'ratio',
  source: { name: 'input_image', list: false },
  sameRatio: 'match_input_image',
  seed: 'seed',
  formats: JPG_PNG,
  safety: LAX,
};
const FLUX_2: ImageModel = {
  sizing: 'custom',
  source: { name: 'input_images', list: true },
  sameRatio: 'match_input_image',
  seed: 'seed',
  formats: ALL_FORMATS,
  safety: LAX,
};
const NANO_BANANA: ImageModel = {
  sizing: 'ratio',
  source: { name: 'image_input', list: true },
  sameRatio: 'match_input_image',
  formats: JPG_PNG,
};
const NANO_BANANA_PRO: ImageModel = { ...NANO_BANANA, tier: 'resolution', safety: 'safety_filter_level' };
const SEEDREAM: ImageModel = {
  sizing: 'ratio',
  tier: 'size',
  source: { name: 'image_input', list: true },
  sameRatio: 'match_input_image',
};
const QWEN_IMAGE: ImageModel = {
  sizing: 'ratio',
  negative: 'negative_prompt',
  guidance: 'guidance',
  steps: 'num_inference_steps',
  seed: 'seed',
  formats: ALL_FORMATS,
  safety: 'disable_safety_checker',
};
const QWEN_EDIT: ImageModel = {
  sizing: 'ratio',
  source: { name: 'image', list: true },
  sameRatio: 'match_input_image',
  seed: 'seed',
  formats: ALL_FORMATS,
  safety: 'disable_safety_checker',
};
const SD_35: ImageModel = {
  sizing: 'ratio',
  negative: 'negative_prompt',
  guidance: 'cfg',
  steps: 'steps',
  seed: 'seed',
  formats: ALL_FORMATS,
};

const MODELS: Readonly<Record<string, ImageModel>> = {
  'black-forest-labs/flux-1.1-pro': FLUX_PRO,
  'black-forest-labs/flux-1.1-pro-ultra': { ...FLUX_PRO, sizing: 'ratio', formats: JPG_PNG },
  'black-forest-labs/flux-2-max': FLUX_2,
  'black-forest-labs/flux-2-pro': FLUX_2,
  'black-forest-labs/flux-dev': { ...FLUX_1, guidance: 'guidance' },
  'black-forest-labs/flux-fill-pro': {
    ...KONTEXT,
    source: { name: 'image', list: false },
    mask: 'mask',
  },
  'black-forest-labs/flux-kontext-max': KONTEXT,
  'black-forest-labs/flux-kontext-pro': KONTEXT,
  'black-forest-labs/flux-schnell': FLUX_1,
  'bytedance/seedream-4': SEEDREAM,
  'bytedance/seedream-4.5': SEEDREAM,
  'google/nano-banana': NANO_BANANA,
  'google/nano-banana-2': { ...NANO_BANANA, tier: 'resolution' },
  'google/nano-banana-pro': NANO_BANANA_PRO,
  'qwen/qwen-image': QWEN_IMAGE,
  'qwen/qwen-image-edit': { ...QWEN_EDIT, source: { name: 'image', list: false } },
  'qwen/qwen-image-edit-plus': QWEN_EDIT,
  'stability-ai/stable-diffusion-3.5-large': SD_35,
};

/** For other models: the most common names in models pushed by their makers. */
const GENERIC: ImageModel = {
  sizing: 'pixels',
  source: { name: 'image', list: false },
  mask: 'mask',
  count: 'num_outputs',
  negative: 'negative_prompt',
  guidance: 'guidance_scale',
  steps: 'num_inference_steps',
  seed: 'seed',
};

/** Fill models keep the ratio of their source. */
const SHAPELESS = new Set(['black-forest-labs/flux-fill-pro']);

function modelOf(name: string): ImageModel {
  return (Object.hasOwn(MODELS, name) ? MODELS[name] : undefined) ?? GENERIC;
}

/** `name`: owner/name. Returns several inputs if the model makes one image at a time. */
export function generationInputs(name: string, order: ImageOrder): Fields[] {
  const model = modelOf(name);
  const { prompt, style, count, seed, guidance, steps, negativePrompt } = order;
  const input = {
    prompt: style === undefined ? prompt : `${prompt}\n\nStyle: ${style}.`,
    ...sizeFields(model, order),
    ...sharedFields(model, order),
    ...named(model.negative, negativePrompt),
    ...named(model.guidance, guidance),
    ...named(model.steps, steps),
    ...named(model.seed, seed),
  };
  if (model.count !== undefined) return [{ ...input, ...(count > 1 && { [model.count]: count }) }];
  // The same seed would repeat the image.
  return Array.from({ length: count }, (_, index) =>
    model.seed === undefined || seed === undefined ? input : { ...input, [model.seed]: seed + index },
  );
}

/** Contains the files themselves until they are replaced by URLs. */
export function editInput(name: string, edit: ImageEdit, files: readonly SentMedium[]): Fields {
  const model = modelOf(name);
  const { source, mask } = model;
  if (source === undefined) throw new Error('the edit was not checked');
  return {
    prompt: edit.prompt,
    [source.name]: source.list ? files : files[0],
    ...(!source.list && mask !== undefined && files[1] !== undefined && { [mask]: files[1] }),
    ...(SHAPELESS.has(name) ? {} : editSize(model, edit)),
    ...sharedFields(model, edit),
  };
}

/** Throws FareboxError if the model takes fewer images. */
export function checkSources(name: string, { images }: Pick<ImageEdit, 'images'>): void {
  const { source, mask } = modelOf(name);
  const most = source === undefined ? 0 : source.list ? Number.MAX_SAFE_INTEGER : mask === undefined ? 1 : 2;
  if (images.length <= most) return;
  const what = ['no image', 'exactly one image', 'at most two images: the base and the mask'][most];
  throw new FareboxError({ code: 'invalid_request', message: `The model takes ${what}.` });
}

function sharedFields({ formats, safety }: ImageModel, { format, safeMode }: ImageOrder | ImageEdit): Fields {
  return {
    ...(formats !== undefined && { output_format: formats[format] ?? formats.png }),
    ...safetyFields(safety, safeMode),
  };
}

function safetyFields(safety: ImageModel['safety'], safeMode: boolean): Fields {
  if (safety === undefined) return {};
  if (safety === 'disable_safety_checker') return { [safety]: !safeMode };
  if (safety === 'safety_filter_level') {
    return { [safety]: safeMode ? 'block_medium_and_above' : 'block_only_high' };
  }
  return { [safety.tolerance]: safeMode ? 2 : 5 };
}

function sizeFields(model: ImageModel, { width, height, aspectRatio, resolution }: ImageOrder): Fields {
  const exact = width === undefined || height === undefined ? undefined : { width, height };
  const tier = named(model.tier, resolution);
  switch (model.sizing) {
    case 'pixels':
      return { ...exact, ...tier, ...named('aspect_ratio', aspectRatio) };
    case 'custom':
      return exact ? { aspect_ratio: 'custom', ...exact } : named('aspect_ratio', aspectRatio);
    case 'ratio':
      return {
        ...named('aspect_ratio', aspectRatio ?? (exact && nearestRatio(exact, ASPECT_RATIOS))),
        ...tier,
      };
  }
}

function editSize(model: ImageModel, { aspectRatio, resolution }: ImageEdit): Fields {
  const ratio = aspectRatio ?? model.sameRatio;
  return { ...named('aspect_ratio', ratio), ...named(model.tier, resolution) };
}

function named(name: string | undefined, value: unknown): Fields {
  return name === undefined || value === undefined ? {} : { [name]: value };
}
