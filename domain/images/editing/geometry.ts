/** Clauses that cut, resize, turn and frame the picture. */
import {
  byDegree,
  lengthOf,
  shareOf,
  takeAmount,
  takeAnchor,
  takeColour,
  takeDegree,
  takeDirection,
  takeMarks,
} from './amounts.ts';
import { CENTRE, type Colour, type EditStep, type GeometryStep } from './plan.ts';
import type { Amount, Reading } from './reading.ts';
import { contradiction, notPossible } from './refusal.ts';

/** Of a side, in pixels. */
const MOST_SIDE = 16_384;
const WHITE: Colour = { red: 255, green: 255, blue: 255 };
const BLACK: Colour = { red: 0, green: 0, blue: 0 };

/** Takes "square" and "widescreen" for their ratios. */
function takeRatio(reading: Reading): number | undefined {
  const named = [
    takeMarks(reading, 'square') ? 1 : undefined,
    takeMarks(reading, 'widescreen') ? 16 / 9 : undefined,
  ];
  const ratios = [reading.ratio, ...named].filter((ratio) => ratio !== undefined);
  if (ratios.length > 1) throw contradiction('it has two ratios where one is expected');
  takeMarks(reading, 'ratio');
  delete reading.ratio;
  return ratios[0];
}

export function cropSteps(reading: Reading): EditStep[] {
  const isCircle = reading.heads.some(({ word }) => word === 'circle' || word === 'circular');
  const ratio = takeRatio(reading) ?? (isCircle ? 1 : undefined);
  const { size } = reading;
  delete reading.size;
  takeMarks(reading, 'area', 'part', 'off', 'only');
  if (size && ratio !== undefined) throw contradiction('it has both a size and a ratio to crop to');
  if (size) return [{ do: 'cropTo', ...sides(size), anchor: takeAnchor(reading) ?? CENTRE }];
  if (ratio !== undefined) {
    const crop: GeometryStep = { do: 'crop', ratio, anchor: takeAnchor(reading) ?? CENTRE };
    return isCircle ? [crop, { do: 'round', radius: { share: 0.5 } }] : [crop];
  }
  return [cropShare(reading)];
}

function sides({ width, height }: { width: number; height: number }): { width: number; height: number } {
  return { width: side(width), height: side(height) };
}

function side(pixels: number): number {
  if (!(Number.isInteger(pixels) && pixels >= 1 && pixels <= MOST_SIDE)) {
    throw contradiction(`a side has 1–${MOST_SIDE} pixels`);
  }
  return pixels;
}

/** "The left half", "10% off each side", "to 50%". */
function cropShare(reading: Reading): EditStep {
  const amount = takeAmount(reading);
  if (!amount)
    throw contradiction('say to what it shall be cropped, as in "crop to 16:9" or "crop the left half"');
  const share = shareOf(amount, 'a piece of the picture');
  if (takeMarks(reading, 'edges', 'edge', 'sides', 'side')) {
    if (reading.places.size > 0 || share >= 0.5) throw contradiction('no picture would be left');
    return { do: 'cropShare', left: share, top: share, width: 1 - 2 * share, height: 1 - 2 * share };
  }
  const isPart = amount.isFraction === true || reading.places.size > 0;
  const anchor = takeAnchor(reading) ?? CENTRE;
  const width = isPart && anchor.x === 0.5 && anchor.y !== 0.5 ? 1 : share;
  const height = isPart && anchor.y === 0.5 && anchor.x !== 0.5 ? 1 : share;
  return { do: 'cropShare', left: (1 - width) * anchor.x, top: (1 - height) * anchor.y, width, height };
}

export function padStep(reading: Reading): EditStep {
  const ratio = takeRatio(reading);
  takeMarks(reading, 'background', 'bars', 'bar', 'fit', 'fits', 'inside', 'within', 'sides');
  if (ratio === undefined)
    throw contradiction('say to which ratio it shall be padded, as in "pad to 16:9 in white"');
  return { do: 'pad', ratio, colour: takeColour(reading) ?? BLACK };
}

export function borderStep(reading: Reading): EditStep {
  const amount = takeAmount(reading);
  const usual = byDegree(takeDegree(reading), [0.015, 0.04, 0.08]);
  takeMarks(reading, 'wide', 'width', 'edges', 'edge', 'sides');
  takeDirection(reading);
  const colour = takeColour(reading) ?? WHITE;
  const thickness = amount ? lengthOf(amount, { pixels: 1_000, share: 0.5 }) : { share: usual };
  return { do: 'border', thickness, colour };
}

export function rotateStep(reading: Reading): EditStep {
  const amount = takeAmount(reading);
  const isUpsideDown = takeMarks(reading, 'upsidedown');
  const [left, right] = ['left', 'right'].map((word) => reading.places.delete(word));
  const isBack = takeMarks(reading, 'counterclockwise') || left === true;
  const isForth = takeMarks(reading, 'clockwise') || right === true;
  if (isBack && isForth) throw contradiction('it names both directions of turning');
  if (isUpsideDown && amount) throw contradiction('it names two angles');
  const angle = isUpsideDown ? 180 : angleOf(amount, isBack || isForth);
  const degrees = ((((isBack ? -angle : angle) % 360) + 540) % 360) - 180;
  if (degrees === 0) throw contradiction('it would change nothing');
  return { do: 'rotate', degrees };
}

function angleOf(amount: Amount | undefined, hasSide: boolean): number {
  if (!amount) {
    if (hasSide) return 90;
    throw contradiction('say how far it shall be rotated, as in "rotate by 90 degrees" or "rotate left"');
  }
  // A quarter turn.
  if (amount.isFraction) return (amount.value / 100) * 360;
  if (amount.unit !== undefined && amount.unit !== 'degrees')
    throw contradiction('an angle is given in degrees');
  if (Math.abs(amount.value) > 3_600) throw contradiction('an angle is at most 3600 degrees');
  return amount.value;
}

export function flipSteps(reading: Reading): EditStep[] {
  const vertical = takeMarks(reading, 'vertically', 'vertical', 'upsidedown');
  const horizontal = takeMarks(reading, 'horizontally', 'horizontal') || !vertical;
  return [
    ...(horizontal ? [{ do: 'flip', axis: 'horizontal' } as const] : []),
    ...(vertical ? [{ do: 'flip', axis: 'vertical' } as const] : []),
  ];
}

const SHRINK = /^(?:shrink|downscale|downscaled|smaller|thumbnail)$/;
const GROW = /^(?:enlarge|enlarged|upscale|upscaled|magnify|bigger|larger|grow)$/;
const THUMBNAIL = 256;

export function resizeStep(reading: Reading): EditStep {
  const words = reading.heads.map(({ word }) => word);
  const direction = takeDirection(reading);
  delete reading.particle;
  const sign =
    direction ??
    (words.some((word) => SHRINK.test(word)) ? -1 : words.some((word) => GROW.test(word)) ? 1 : undefined);
  const degree = takeDegree(reading);
  takeMarks(reading, 'factor', 'thumbnail');
  const fit = takeFit(reading);
  if (takeMarks(reading, 'square')) throw notPossible('"square" needs "crop", "pad" or a size in pixels');
  const { size } = reading;
  delete reading.size;
  if (size) return { do: 'resize', ...sides(size), fit };
  const measured = measuredSides(reading, fit);
  if (measured) return measured;
  const amount = takeAmount(reading);
  if (amount === undefined && words.includes('thumbnail')) return { do: 'longSide', pixels: THUMBNAIL };
  if (amount?.unit === 'px' || (amount?.unit === undefined && amount !== undefined && amount.value > 8)) {
    return { do: 'resize', width: side(amount.value), fit };
  }
  return { do: 'scale', factor: scaleOf(amount, sign, degree) };
}

function takeFit(reading: Reading): 'cover' | 'inside' | 'stretch' {
  const stretches = takeMarks(reading, 'stretch', 'stretched', 'stretching');
  const fits = takeMarks(reading, 'fit', 'fits', 'inside', 'within');
  const covers = takeMarks(reading, 'fill', 'fills', 'cover', 'covering');
  if (Number(stretches) + Number(fits) + Number(covers) > 1)
    throw contradiction('it names two ways to fit a size');
  if (stretches) return 'stretch';
  return fits ? 'inside' : 'cover';
}

/** "800 pixels wide and 600 high". */
function measuredSides(reading: Reading, fit: 'cover' | 'inside' | 'stretch'): EditStep | undefined {
  const found = new Map<string, number>();
  for (const { noun, value, unit } of reading.amounts) {
    if (unit === '%' || unit === 'times' || unit === 'degrees') continue;
    const kind = noun && SIDES[noun];
    if (!kind) continue;
    if (found.has(kind)) throw contradiction('it has two numbers for one side');
    found.set(kind, side(value));
  }
  if (found.size === 0) return undefined;
  if (found.size !== reading.amounts.length) throw contradiction('it has a number too many');
  reading.amounts.length = 0;
  takeMarks(reading, 'width', 'wide', 'height', 'tall', 'high', 'longside');
  const [width, height, pixels] = ['width', 'height', 'longside'].map((kind) => found.get(kind));
  if (pixels !== undefined) {
    if (found.size > 1) throw contradiction('it has a number too many');
    return { do: 'longSide', pixels };
  }
  return {
    do: 'resize',
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
    fit,
  };
}

const SIDES: Readonly<Record<string, string>> = {
  width: 'width',
  wide: 'width',
  height: 'height',
  high: 'height',
  tall: 'height',
  longside: 'longside',
};

/** "By half" and "half the size" are a half of it; "smaller by 30%" is 70%. */
function scaleOf(amount: Amount | undefined, sign: number | undefined, degree: number): number {
  if (amount === undefined) {
    if (sign === undefined)
      throw contradiction('say to which size, as in "resize to 800x600" or "half the size"');
    return sign > 0 ? byDegree(degree, [1.25, 2, 3]) : byDegree(degree, [0.75, 0.5, 0.25]);
  }
  const { value, unit, preposition, isFraction } = amount;
  if (unit === 'degrees') throw contradiction('a size has no degrees');
  if (!(value > 0)) throw contradiction('no picture would be left');
  if (unit !== '%') return sign === -1 ? 1 / value : value;
  if (isFraction || sign === undefined || preposition === 'to') return value / 100;
  const factor = 1 + (sign * value) / 100;
  if (factor < 0.01) throw contradiction('no picture would be left');
  return factor;
}
