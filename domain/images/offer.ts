/** Compares an image request with the offer of its model (IMAGE-3 to IMAGE-5). */
import type { ImageSpec, InpaintSpec, Quality } from '../catalogue/specs.ts';
import { type WrongField, wrongField } from '../generation/terms.ts';
import { ASPECT_RATIOS, type AspectRatio, type ImageFormat, type PixelSize } from './images.ts';
import type { ImageTier } from './price.ts';

type Spec = Pick<InpaintSpec | ImageSpec, 'constraints' | 'pricing'>;

const DEFAULT_RESOLUTION = '1K';
/** Default of an entry (IMAGE-3). */
const DEFAULT_INPUT_IMAGES = 3;
const BEST_FIRST: readonly Quality[] = ['high', 'medium', 'low'];

export function resolutionsOf({ constraints, pricing }: Spec): readonly string[] {
  return constraints?.resolutions ?? Object.keys(pricing?.resolutions ?? {});
}

export function qualitiesOf({ constraints, pricing }: Spec): readonly Quality[] {
  if (constraints?.qualities) return constraints.qualities;
  const priced = Object.values(pricing?.quality ?? {});
  return BEST_FIRST.filter((quality) => priced.some((tiers) => tiers[quality] !== undefined));
}

export function mostInputImages({ capabilities, constraints }: InpaintSpec): number {
  if (constraints?.combineImages === false) return 1;
  return capabilities?.maxInputImages ?? constraints?.maxInputImages ?? DEFAULT_INPUT_IMAGES;
}

export interface WishedTier {
  resolution: string | undefined;
  quality: Quality | undefined;
}

type ChoiceResult<T> = ({ ok: true } & T) | WrongField;

/**
 * Absent options have the model's default: the resolution 1K if there is one, the best quality. A resolution for a
 * model without any is dropped, or refused if `strict`. Models with qualities honour a requested one.
 */
export function chooseTier(spec: Spec, wished: WishedTier, { strict }: { strict: boolean }): ChoiceResult<ImageTier> {
  const resolutions = resolutionsOf(spec);
  const qualities = qualitiesOf(spec);
  if (wished.resolution !== undefined && !resolutions.includes(wished.resolution)) {
    if (resolutions.length > 0) return wrongField('resolution', `Must be one of: ${resolutions.join(', ')}`);
    if (strict) return wrongField('resolution', 'The model has no choice of resolutions');
  }
  if (wished.quality !== undefined && qualities.length > 0 && !qualities.includes(wished.quality)) {
    return wrongField('quality', `Must be one of: ${qualities.join(', ')}`);
  }
  const resolution = resolutions.length === 0 ? undefined : (wished.resolution ?? usualOf(spec, resolutions));
  const quality = qualities.length === 0 ? undefined : (wished.quality ?? bestOf(spec, qualities));
  return { ok: true, resolution, quality };
}

export const OPENAI_QUALITIES = ['auto', 'standard', 'hd', 'low', 'medium', 'high'] as const;
export type OpenAiQuality = (typeof OPENAI_QUALITIES)[number];

/** `hd` is the best quality of the model, `standard` the best below `high`. Undefined: the model's default. */
export function qualityOf(spec: Spec, wished: OpenAiQuality | null | undefined): Quality | undefined {
  if (wished == null || wished === 'auto') return undefined;
  if (wished !== 'hd' && wished !== 'standard') return wished;
  const offered = BEST_FIRST.filter((quality) => qualitiesOf(spec).includes(quality));
  return wished === 'hd' ? offered[0] : (offered.find((quality) => quality !== 'high') ?? offered[0]);
}

/** The smallest tier, which contains every size of OpenAI. Undefined: no size was requested, or there are no tiers. */
export function resolutionOfSize(spec: Spec, size: PixelSize | undefined): string | undefined {
  return size && resolutionsOf(spec).find((resolution) => resolution === DEFAULT_RESOLUTION);
}

function usualOf({ constraints }: Spec, resolutions: readonly string[]): string | undefined {
  const { defaultResolution } = constraints ?? {};
  if (defaultResolution !== undefined && resolutions.includes(defaultResolution)) return defaultResolution;
  return resolutions.includes(DEFAULT_RESOLUTION) ? DEFAULT_RESOLUTION : resolutions[0];
}

function bestOf({ constraints }: Spec, qualities: readonly Quality[]): Quality | undefined {
  return constraints?.defaultQuality ?? BEST_FIRST.find((quality) => qualities.includes(quality));
}

/** A listed `auto` is a value for clients, not a ratio. */
function shapesOf({ constraints }: Spec): readonly string[] | undefined {
  return constraints?.aspectRatios?.filter((ratio) => ratio !== 'auto');
}

export function wrongAspectRatio(spec: Spec, wished: string | undefined): WrongField | undefined {
  const offered = shapesOf(spec);
  if (wished === undefined || wished === 'auto' || !offered || offered.includes(wished)) return undefined;
  if (offered.length === 0) return wrongField('aspect_ratio', 'The model has no choice of aspect ratios');
  return wrongField('aspect_ratio', `Must be one of: ${offered.join(', ')}`);
}

/**
 * The requested ratio, otherwise the model's nearest to that of the first picture. Undefined: the model lists none and
 * keeps the picture's ratio by itself.
 */
export function aspectRatioOf(
  spec: Spec,
  wished: AspectRatio | 'auto' | undefined,
  { width, height }: { width: number; height: number },
): AspectRatio | undefined {
  if (wished !== undefined && wished !== 'auto') return wished;
  const offered = shapesOf(spec);
  const known = ASPECT_RATIOS.filter((ratio) => offered?.includes(ratio));
  const away = (ratio: AspectRatio) => Math.abs(Math.log(quotientOf(ratio)) - Math.log(width / height));
  return known.toSorted((left, right) => away(left) - away(right))[0];
}

function quotientOf(ratio: AspectRatio): number {
  const [width, height] = ratio.split(':').map(Number);
  return (width ?? 1) / (height ?? 1);
}

export function wrongPrompt(
  { constraints }: Pick<Spec, 'constraints'>,
  text: string,
  field = 'prompt',
): WrongField | undefined {
  const limit = constraints?.promptCharacterLimit;
  if (limit === undefined || text.length <= limit) return undefined;
  return wrongField(field, `At most ${limit} characters for this model`);
}

export function wrongCount(spec: InpaintSpec, count: number): WrongField | undefined {
  const most = mostInputImages(spec);
  if (count <= most) return undefined;
  return wrongField('images', `At most ${most} ${most === 1 ? 'image' : 'images'} for this model`);
}

/** PNG for the smallest tier and for models without tiers, JPEG for the others (IMAGE-5). */
export function usualFormat(resolution: string | undefined): ImageFormat {
  return resolution === undefined || resolution === DEFAULT_RESOLUTION ? 'png' : 'jpeg';
}

/** Maximum result of the upscaler, in pixels (IMAGE-10). */
const MAX_UPSCALED_PIXELS = 16_777_216;

/** The requested factor, or the largest within the pixel limit; never below 1. */
export function scaleWithin(wished: number, { width, height }: { width: number; height: number }): number {
  return Math.max(1, Math.min(wished, Math.sqrt(MAX_UPSCALED_PIXELS / (width * height))));
}
