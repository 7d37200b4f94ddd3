/** Runs in the image child only: executes the steps of an edit plan between one decoding and one encoding. */
import { cropBox, pixelsOf, sizeAfter } from '../../domain/images/editing/measure.ts';
import {
  type EditPlan,
  type EditStep,
  type GeometryStep,
  isSurface,
  type SurfaceStep,
} from '../../domain/images/editing/plan.ts';
import type { ImageFormat } from '../../domain/images/images.ts';
import { add, type Canvas, openCanvas, settle } from './editCanvas.ts';
import { colourChange } from './editColour.ts';
import {
  applyWithinMask,
  fadeTo,
  keepMasked,
  type LayerMeans,
  overlay,
  roundCorners,
  vignette,
  write as writeText,
} from './editLayers.ts';
import { ENCODERS } from './finish.ts';
import type { ImageFacts } from './imageFacts.ts';
import { write } from './plain.ts';

export interface EditInput {
  plan: EditPlan;
  /** Paths. The base image comes first. */
  images: readonly string[];
  /** Larger images are not decoded. */
  maxPixels: number;
  /** Path of the DejaVu Sans font. */
  fontPath: string;
  format: ImageFormat;
  target: string;
}

/** Throws ImageRefusal when an image cannot be decoded. */
export async function edit({ plan, images, maxPixels, fontPath, format, target }: EditInput): Promise<ImageFacts> {
  const means: LayerMeans = { images, maxPixels, fontPath };
  const canvas = await openCanvas(images[0] ?? '', maxPixels);
  for (const step of plan) await carryOut(canvas, step, means);
  return write(ENCODERS[format](canvas.picture), target, format);
}

async function carryOut(canvas: Canvas, step: EditStep, means: LayerMeans): Promise<void> {
  if (step.do === 'mask') {
    if (step.steps.length === 0) return keepMasked(canvas, step, means);
    return applyWithinMask(canvas, { mask: step, means }, async () => {
      for (const inner of step.steps) await onSurface(canvas, inner, means);
    });
  }
  return isSurface(step) ? onSurface(canvas, step, means) : inSpace(canvas, step as GeometryStep);
}

const TRANSPARENT = { r: 0, g: 0, b: 0, alpha: 0 };

async function inSpace(canvas: Canvas, step: GeometryStep): Promise<void> {
  const next = sizeAfter(canvas, step);
  switch (step.do) {
    case 'crop':
    case 'cropTo':
    case 'cropShare': {
      const { left, top, width, height } = cropBox(canvas, step);
      await add(canvas, 'extract', (picture) => picture.extract({ left, top, width, height }));
      break;
    }
    case 'resize':
    case 'scale':
    case 'longSide': {
      const fit = step.do === 'resize' ? 'cover' : 'fill';
      await add(canvas, 'resize', (picture) => picture.resize({ ...next, fit }));
      break;
    }
    case 'flip':
      await add(canvas, 'flip', (picture) => (step.axis === 'vertical' ? picture.flip() : picture.flop()));
      break;
    case 'pad':
    case 'border':
      await extend(canvas, next, step.colour);
      break;
    case 'rotate':
      await add(canvas, 'turn', (picture) => picture.rotate(step.degrees, { background: TRANSPARENT }));
      // The size at any other angle is known only after the rotation.
      if (step.degrees % 90 !== 0) return settle(canvas);
      break;
  }
  canvas.width = next.width;
  canvas.height = next.height;
}

async function extend(
  canvas: Canvas,
  next: { width: number; height: number },
  { red, green, blue }: { red: number; green: number; blue: number },
): Promise<void> {
  const left = Math.floor((next.width - canvas.width) / 2);
  const top = Math.floor((next.height - canvas.height) / 2);
  const right = next.width - canvas.width - left;
  const bottom = next.height - canvas.height - top;
  const background = { r: red, g: green, b: blue, alpha: 1 };
  await add(canvas, 'extend', (picture) => picture.extend({ left, top, right, bottom, background }));
}

async function onSurface(canvas: Canvas, step: SurfaceStep, means: LayerMeans): Promise<void> {
  const change = colourChange(step);
  if (change) {
    const { matrix, factors, added } = change;
    if (matrix) await add(canvas, 'recomb', (picture) => picture.recomb(matrix));
    else await add(canvas, 'linear', (picture) => picture.linear(factors, added));
  }
  switch (step.do) {
    case 'blur': {
      const sigma = pixelsOf(step.size, canvas);
      await add(canvas, 'blur', (picture) => picture.blur(sigma));
      break;
    }
    case 'sharpen':
      await add(canvas, 'sharpen', (picture) =>
        picture.sharpen({ sigma: 1 + step.amount / 2, m1: step.amount, m2: step.amount * 2 }),
      );
      break;
    case 'pixelate':
      return pixelate(canvas, pixelsOf(step.size, canvas));
    case 'vignette':
      return vignette(canvas, step.strength);
    case 'opacity':
      return fadeTo(canvas, step.opacity);
    case 'round':
      return roundCorners(canvas, step.radius);
    case 'text':
      return writeText(canvas, step, means.fontPath);
    case 'overlay':
      return overlay(canvas, step, means);
  }
}

async function pixelate(canvas: Canvas, block: number): Promise<void> {
  const { width, height } = canvas;
  const [across, down] = [width, height].map((side) => Math.max(1, Math.round(side / block)));
  await add(canvas, 'resize', (picture) =>
    picture.resize({ width: across ?? 1, height: down ?? 1, fit: 'fill', kernel: 'linear' }),
  );
  await add(canvas, 'resize', (picture) => picture.resize({ width, height, fit: 'fill', kernel: 'nearest' }));
}
