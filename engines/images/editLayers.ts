/** Runs in the image child only: overlays, texts and masks on an image. */
import sharp, { type OverlayOptions } from 'sharp';
import { pixelsOf as lengthInPixels, type Size } from '../../domain/images/editing/measure.ts';
import type { Anchor, Length, MaskStep, OverlayStep, SurfaceStep } from '../../domain/images/editing/plan.ts';
import { add, type Canvas, openCanvas, type Pixels, pixelsOf, setPixels, singlePixel } from './editCanvas.ts';
import { decoding } from './openImage.ts';

type TextStep = Extract<SurfaceStep, { do: 'text' }>;

export interface LayerMeans {
  /** Paths of the request's images. The first is the base. */
  images: readonly string[];
  maxPixels: number;
  fontPath: string;
}

async function composite(canvas: Canvas, layer: Pixels, options: Omit<OverlayOptions, 'input'>): Promise<void> {
  const { data, ...raw } = layer;
  await add(canvas, 'composite', (picture) => picture.composite([{ input: data, raw, ...options }]));
}

/** Position of a layer at its anchor, at least `margin` pixels from the edges if there is space. */
function placed({ width, height }: Size, layer: Size, { anchor, margin }: { anchor: Anchor; margin: number }) {
  const along = (free: number, share: number) => {
    const kept = Math.min(margin, Math.floor(free / 2));
    return Math.max(0, Math.round(kept + (free - 2 * kept) * share));
  };
  return { left: along(width - layer.width, anchor.x), top: along(height - layer.height, anchor.y) };
}

export async function overlay(canvas: Canvas, step: OverlayStep, means: LayerMeans): Promise<void> {
  const { width, height } = canvas;
  const layer = await openCanvas(means.images[step.image - 1] ?? '', means.maxPixels);
  const wanted = Math.min(width, layerWidth(step, { canvas, layer }));
  await add(layer, 'resize', (picture) => picture.resize({ width: wanted, height, fit: 'inside' }));
  if (step.opacity < 1) await fadeTo(layer, step.opacity);
  const pixels = await pixelsOf(layer);
  const place = placed(canvas, pixels, { anchor: step.anchor, margin: 0 });
  await composite(canvas, pixels, place);
}

/** Requested width, or the layer's own. */
function layerWidth({ width }: OverlayStep, { canvas, layer }: { canvas: Size; layer: Size }): number {
  if (width === undefined) return layer.width;
  return 'pixels' in width ? width.pixels : Math.max(1, Math.round(width.share * canvas.width));
}

export async function fadeTo(canvas: Canvas, opacity: number): Promise<void> {
  await composite(canvas, singlePixel(opacity), { tile: true, blend: 'dest-in' });
}

/** Margin of a text as a share of the image, and the maximum share that the text takes. */
const MARGIN = 0.04;
const MAX_TAKEN = 1 - 2 * MARGIN;
const DEFAULT_SIZE: Length = { share: 0.09 };
/** As shares of the font size: average width of a letter, height of a line. */
const LETTER = 0.65;
const LINE = 1.25;
const SMALLEST = 6;
/** Font sizes are in points of 1/72 inch, so that a point is a pixel here. */
const DPI = 72;

export async function write(canvas: Canvas, step: TextStep, fontPath: string): Promise<void> {
  const room = {
    width: Math.floor(canvas.width * MAX_TAKEN),
    height: Math.floor(canvas.height * MAX_TAKEN),
  };
  // Too small for any letter.
  if (room.width < SMALLEST || room.height < SMALLEST) return;
  const size = fittingSize([...step.text].length, lengthInPixels(step.size ?? DEFAULT_SIZE, canvas), room);
  const { red, green, blue } = step.colour;
  const align = step.anchor.x === 0 ? 'left' : step.anchor.x === 1 ? 'right' : 'centre';
  const drawn = sharp({
    text: {
      text: `<span foreground="#${hex(red)}${hex(green)}${hex(blue)}">${escaped(step.text)}</span>`,
      font: `DejaVu Sans ${size}`,
      fontfile: fontPath,
      width: room.width,
      wrap: 'word-char',
      align,
      dpi: DPI,
      rgba: true,
    },
  });
  const text = await decoding(() => drawn.png().toBuffer());
  const { data, info } = await decoding(() =>
    sharp(text)
      .resize({ ...room, fit: 'inside', withoutEnlargement: true })
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true }),
  );
  const pixels: Pixels = { data, width: info.width, height: info.height, channels: 4 };
  const margin = Math.round(Math.min(canvas.width, canvas.height) * MARGIN);
  await composite(canvas, pixels, placed(canvas, pixels, { anchor: step.anchor, margin }));
}

/** Font size at which the whole text fits. Text that does not fit would take unlimited memory before it is cropped. */
function fittingSize(characters: number, wanted: number, room: Size): number {
  let size = Math.max(SMALLEST, wanted);
  const lines = () => Math.ceil(characters / Math.max(1, Math.floor(room.width / (size * LETTER))));
  while (size > SMALLEST && lines() * size * LINE > room.height) size = Math.max(SMALLEST, size * 0.92);
  return Math.floor(size);
}

function hex(part: number): string {
  return part.toString(16).padStart(2, '0');
}

/** Escapes the text, because the library interprets markup. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Side in pixels of the pattern that is stretched over the image. */
const PATTERN = 256;

export async function vignette(canvas: Canvas, strength: number): Promise<void> {
  const { width, height } = canvas;
  const pattern = Buffer.alloc(PATTERN * PATTERN * 4);
  for (let at = 0; at < PATTERN * PATTERN; at += 1) {
    const x = ((at % PATTERN) + 0.5) / PATTERN - 0.5;
    const y = (Math.floor(at / PATTERN) + 0.5) / PATTERN - 0.5;
    // 0 in the centre, 1 in the corners.
    const distance = Math.sqrt((x * x + y * y) * 2);
    const dark = Math.min(1, Math.max(0, (distance - 0.4) / 0.6)) ** 1.5;
    pattern[at * 4 + 3] = Math.round(255 * strength * dark);
  }
  const { data } = await sharp(pattern, { raw: { width: PATTERN, height: PATTERN, channels: 4 } })
    .resize({ width, height, fit: 'fill', kernel: 'cubic' })
    .raw()
    .toBuffer({ resolveWithObject: true });
  await composite(canvas, { data, width, height, channels: 4 }, { left: 0, top: 0 });
}

export async function roundCorners(canvas: Canvas, radius: Length): Promise<void> {
  const { width, height } = canvas;
  const pixels = Math.min(lengthInPixels(radius, canvas), Math.floor(Math.min(width, height) / 2));
  const data = Buffer.alloc(width * height * 4, 255);
  for (let y = 0; y < pixels; y += 1) {
    for (let x = 0; x < pixels; x += 1) {
      const away = Math.hypot(pixels - x - 0.5, pixels - y - 0.5);
      const alpha = Math.round(255 * Math.min(1, Math.max(0, pixels - away + 0.5)));
      for (const row of [y, height - 1 - y]) {
        data[(row * width + x) * 4 + 3] = alpha;
        data[(row * width + width - 1 - x) * 4 + 3] = alpha;
      }
    }
  }
  await composite(canvas, { data, width, height, channels: 4 }, { left: 0, top: 0, blend: 'dest-in' });
}

/** One byte per pixel: 255 is white. Transparent parts of a mask are black. */
async function maskFor({ width, height }: Size, { image, inverted }: MaskStep, means: LayerMeans): Promise<Buffer> {
  const mask = await openCanvas(means.images[image - 1] ?? '', means.maxPixels);
  const grey = mask.picture
    .flatten({ background: '#000000' })
    .resize({ width, height, fit: 'fill' })
    .greyscale()
    .toColourspace('b-w')
    .raw();
  const bytes = await decoding(() => grey.toBuffer());
  if (inverted) for (let at = 0; at < bytes.length; at += 1) bytes[at] = 255 - (bytes[at] ?? 0);
  return bytes;
}

export async function keepMasked(canvas: Canvas, mask: MaskStep, means: LayerMeans): Promise<void> {
  const pixels = await pixelsOf(canvas);
  const bytes = await maskFor(pixels, mask, means);
  for (let at = 0; at < bytes.length; at += 1) {
    const alpha = at * 4 + 3;
    pixels.data[alpha] = Math.round(((pixels.data[alpha] ?? 0) * (bytes[at] ?? 0)) / 255);
  }
  setPixels(canvas, pixels);
}

/** Applies `work` where the mask is white. */
export async function applyWithinMask(
  canvas: Canvas,
  { mask, means }: { mask: MaskStep; means: LayerMeans },
  work: () => Promise<void>,
): Promise<void> {
  const before = await pixelsOf(canvas);
  const bytes = await maskFor(before, mask, means);
  setPixels(canvas, before);
  await work();
  const after = await pixelsOf(canvas);
  for (let at = 0; at < after.data.length; at += 1) {
    const [old, share] = [before.data[at] ?? 0, bytes[at >> 2] ?? 0];
    after.data[at] = Math.round(old + (((after.data[at] ?? 0) - old) * share) / 255);
  }
  setPixels(canvas, after);
}
