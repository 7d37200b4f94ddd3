/** Checks an order of new images against its model (IMAGE-8). */
import type { ImageSpec } from '../catalogue/specs.ts';
import { type WrongField, wrongField } from '../generation/terms.ts';

export interface WishedImages {
  prompt: string;
  negativePrompt?: string | undefined;
  width?: number | undefined;
  height?: number | undefined;
  aspectRatio?: string | undefined;
  steps?: number | undefined;
  styleReferences: number;
}

/** Defaults of an entry (IMAGE-8). */
const DEFAULT_PROMPT_LIMIT = 7_500;
const DEFAULT_SIDE = 1_024;

export function wrongImages(
  { constraints, supportsStyleReferences }: ImageSpec,
  wished: WishedImages,
): WrongField | undefined {
  const limit = constraints?.promptCharacterLimit ?? DEFAULT_PROMPT_LIMIT;
  const words = `At most ${limit} characters for this model`;
  if (wished.prompt.length > limit) return wrongField('prompt', words);
  if ((wished.negativePrompt?.length ?? 0) > limit) return wrongField('negative_prompt', words);
  const ratios = constraints?.aspectRatios;
  if (wished.aspectRatio !== undefined && ratios && !ratios.includes(wished.aspectRatio)) {
    return wrongField('aspect_ratio', `Must be one of: ${ratios.join(', ')}`);
  }
  const divisor = constraints?.widthHeightDivisor;
  for (const side of ['width', 'height'] as const) {
    if (divisor !== undefined && (wished[side] ?? 0) % divisor !== 0) {
      return wrongField(side, `Must be a multiple of ${divisor} for this model`);
    }
  }
  const most = constraints?.steps?.max;
  if (most !== undefined && (wished.steps ?? 0) > most) return wrongField('steps', `At most ${most} for this model`);
  const references = supportsStyleReferences ? (constraints?.maxStyleReferences ?? 1) : 0;
  if (wished.styleReferences > references) {
    return wrongField(
      'style_references',
      references === 0 ? 'The model takes none' : `At most ${references} for this model`,
    );
  }
  return undefined;
}

/** Size in pixels; undefined for models with a ratio or a resolution, unless a size is requested. */
export function sizeOf(
  { constraints, pricing }: ImageSpec,
  { width, height, aspectRatio }: Pick<WishedImages, 'width' | 'height' | 'aspectRatio'>,
): { width: number; height: number } | undefined {
  const isShaped = aspectRatio !== undefined || constraints?.aspectRatios !== undefined;
  const hasTiers = constraints?.resolutions !== undefined || pricing.resolutions !== undefined;
  if (width === undefined && height === undefined && (isShaped || hasTiers)) return undefined;
  return { width: width ?? DEFAULT_SIDE, height: height ?? DEFAULT_SIDE };
}
