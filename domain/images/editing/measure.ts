/**
 * Computes the size of a picture after each step, before it is decoded, and adds the steps of the request's own fields.
 */
import { type AspectRatio, SOURCE_PIXELS } from '../images.ts';
import { CENTRE, type EditPlan, type EditStep, isSurface, type Length } from './plan.ts';
import { contradiction } from './refusal.ts';

export interface Size {
  width: number;
  height: number;
}

export interface Box extends Size {
  left: number;
  top: number;
}

/** Longer side in pixels. */
const TIERS: Readonly<Record<string, number>> = { '1K': 1_024, '2K': 2_048, '4K': 4_096 };
/** Default resolution, which never enlarges. */
const BOUND_ONLY = '1K';

export interface Wishes {
  aspectRatio?: AspectRatio;
  resolution?: string;
}

/**
 * Adds the crop and the size of the request's fields at the end of a plan. Throws FareboxError when a step does not fit
 * this picture, the result would be too large, or nothing would change.
 */
export function completePlan(plan: EditPlan, base: Size, { aspectRatio, resolution }: Wishes): EditPlan {
  const complete: EditStep[] = [...plan];
  let size = plan.reduce(sizeAfter, base);
  if (aspectRatio !== undefined) {
    const crop = { do: 'crop', ratio: ratioOf(aspectRatio), anchor: CENTRE } as const;
    complete.push(crop);
    size = sizeAfter(size, crop);
  }
  const longest = Math.max(size.width, size.height);
  const pixels = resolution === undefined ? undefined : TIERS[resolution];
  if (pixels !== undefined && plan.some(statesSize)) refuseBeyond(size, pixels);
  else if (pixels !== undefined && (longest > pixels || (resolution !== BOUND_ONLY && longest < pixels))) {
    complete.push({ do: 'longSide', pixels });
  }
  refuseUnchanged(complete, base);
  return complete;
}

function ratioOf(ratio: AspectRatio): number {
  const [width = 1, height = 1] = ratio.split(':').map(Number);
  return width / height;
}

function statesSize(step: EditStep): boolean {
  return step.do === 'resize' || step.do === 'scale' || step.do === 'longSide' || step.do === 'cropTo';
}

function refuseBeyond({ width, height }: Size, pixels: number): void {
  if (Math.max(width, height) <= pixels) return;
  throw contradiction(
    `it asks for ${width} x ${height} pixels, and the resolution of the request allows ${pixels} on the longer side; ` +
      'ask for a higher "resolution", at most "4K"',
  );
}

function refuseUnchanged(plan: EditPlan, base: Size): void {
  let size = base;
  for (const step of plan) {
    const next = sizeAfter(size, step);
    const isMoved =
      step.do === 'rotate' || step.do === 'flip' || next.width !== size.width || next.height !== size.height;
    if (isMoved || isSurface(step) || step.do === 'mask') return;
    size = next;
  }
  throw contradiction(
    `the picture has that size or ratio already (${base.width} x ${base.height}), so nothing would change`,
  );
}

/** Throws FareboxError for a size that results must not have. */
export function sizeAfter(size: Size, step: EditStep): Size {
  const next = rounded(unbounded(size, step));
  if (next.width * next.height > SOURCE_PIXELS.most) {
    throw contradiction(
      `a picture has at most ${SOURCE_PIXELS.most} pixels, and it would have ${next.width} x ${next.height}`,
    );
  }
  return next;
}

function rounded({ width, height }: Size): Size {
  return { width: Math.max(1, Math.round(width)), height: Math.max(1, Math.round(height)) };
}

function unbounded(size: Size, step: EditStep): Size {
  const { width, height } = size;
  switch (step.do) {
    case 'crop':
    case 'cropTo':
    case 'cropShare':
      return cropBox(size, step);
    case 'resize':
      return resized(size, step);
    case 'scale':
      return { width: width * step.factor, height: height * step.factor };
    case 'longSide': {
      const factor = step.pixels / Math.max(width, height);
      return { width: width * factor, height: height * factor };
    }
    case 'pad':
      return { width: Math.max(width, height * step.ratio), height: Math.max(height, width / step.ratio) };
    case 'rotate':
      return turned(size, step.degrees);
    case 'border': {
      const thickness = pixelsOf(step.thickness, size);
      return { width: width + 2 * thickness, height: height + 2 * thickness };
    }
    default:
      return size;
  }
}

/** At least 1. */
export function pixelsOf(length: Length, { width, height }: Size): number {
  const pixels = 'pixels' in length ? length.pixels : length.share * Math.min(width, height);
  return Math.max(1, Math.round(pixels));
}

type CropStep = Extract<EditStep, { do: 'crop' | 'cropTo' | 'cropShare' }>;

/** Throws FareboxError when the picture is smaller than the piece. */
export function cropBox(size: Size, step: CropStep): Box {
  const { width, height } = size;
  const whole = rounded(pieceOf(size, step));
  if (whole.width > width || whole.height > height) {
    throw contradiction(`the picture, ${width} x ${height} pixels then, is smaller than the piece to be cropped`);
  }
  const left = Math.round((width - whole.width) * step.anchor.x);
  return { left, top: Math.round((height - whole.height) * step.anchor.y), ...whole };
}

function pieceOf({ width, height }: Size, step: CropStep): Size {
  switch (step.do) {
    case 'cropTo':
      return step;
    case 'cropShare':
      return { width: width * step.width, height: height * step.height };
    case 'crop':
      return { width: Math.min(width, height * step.ratio), height: Math.min(height, width / step.ratio) };
  }
}

function resized({ width, height }: Size, step: Extract<EditStep, { do: 'resize' }>): Size {
  const { width: across, height: down } = step;
  const factor = across === undefined ? (down ?? height) / height : across / width;
  return { width: across ?? width * factor, height: down ?? height * factor };
}

function turned({ width, height }: Size, degrees: number): Size {
  const angle = (degrees * Math.PI) / 180;
  const [cosine, sine] = [Math.abs(Math.cos(angle)), Math.abs(Math.sin(angle))];
  return { width: width * cosine + height * sine, height: width * sine + height * cosine };
}
