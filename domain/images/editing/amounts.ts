/** Converts numbers, strengths and places of a prompt to parameters of a step. */
import { type Anchor, CENTRE, type Length } from './plan.ts';
import { contradiction } from './refusal.ts';
import type { Amount, TokenOf } from './tokens.ts';

/** Length in pixels or per cent of the shorter side. A bare number is pixels. */
export function lengthOf({ value, unit }: Amount, bounds: { pixels: number; share: number }): Length {
  if (unit === 'degrees' || unit === 'times') throw contradiction('a length is given in pixels or per cent');
  const length: Length = unit === '%' ? { share: value / 100 } : { pixels: value };
  const isWithin = unit === '%' ? value / 100 <= bounds.share : value >= 1 && value <= bounds.pixels;
  if (!isWithin || value <= 0) {
    throw contradiction(`a length there is 1–${bounds.pixels} pixels or up to ${bounds.share * 100}%`);
  }
  return length;
}

/** Converts per cent to 0–1. */
export function shareOf({ value, unit }: Amount, what: string): number {
  if (unit !== undefined && unit !== '%') throw contradiction(`${what} is given in per cent`);
  if (!(value > 0 && value <= 100)) throw contradiction(`${what} is above 0 and at most 100%`);
  return value / 100;
}

const MAX_SIDE = 16_384;

export function sidePixels(pixels: number): number {
  if (Number.isInteger(pixels) && pixels >= 1 && pixels <= MAX_SIDE) return pixels;
  throw contradiction(`a side has 1–${MAX_SIDE} pixels`);
}

/** Chooses one of three values by "slightly", no adverb and "strongly". */
export function byStrength(
  strength: number | undefined,
  [little, usual, much]: readonly [number, number, number],
): number {
  if (strength === undefined) return usual;
  return strength < 1 ? little : much;
}

export function anchorOf(places: readonly TokenOf<'place'>['place'][], otherwise = CENTRE): Anchor {
  if (places.length === 0) return otherwise;
  const [left, right, top, bottom] = (['left', 'right', 'top', 'bottom'] as const).map((side) => places.includes(side));
  if ((left && right) || (top && bottom)) throw contradiction('it names two opposite sides');
  return { x: left ? 0 : right ? 1 : 0.5, y: top ? 0 : bottom ? 1 : 0.5 };
}

export function opacityOf(amount: Amount | undefined): number {
  if (!amount) throw contradiction('opacity needs a number, as in "50% opacity"');
  return shareOf(amount, 'opacity');
}
