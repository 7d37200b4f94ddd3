/** How much: numbers, fractions and words like "slightly", turned into what an operation needs. */
import type { Anchor, Colour, Length } from './plan.ts';
import type { Amount, Reading } from './reading.ts';
import { contradiction } from './refusal.ts';

const TOO_MANY = 'it has a number too many, or one that does not belong there';

/** The only amount of the clause, taken away; undefined: it has none. */
export function takeAmount(reading: Reading): Amount | undefined {
  if (reading.amounts.length > 1) throw contradiction(TOO_MANY);
  return reading.amounts.pop();
}

export function takeDegree(reading: Reading): number {
  const { degree } = reading;
  delete reading.degree;
  return degree?.factor ?? 1;
}

export function takeDirection(reading: Reading): 1 | -1 | undefined {
  const { direction } = reading;
  delete reading.direction;
  return direction;
}

export function takeColour(reading: Reading): Colour | undefined {
  if (reading.colours.length > 1) throw contradiction('it has two colours where one is expected');
  for (const word of ['colour', 'color', 'coloured', 'colored']) reading.marks.delete(word);
  return reading.colours.pop()?.colour;
}

export function takeMarks(reading: Reading, ...words: string[]): boolean {
  return words.filter((word) => reading.marks.delete(word)).length > 0;
}

/** Where it shall lie; undefined: not said. */
export function takeAnchor(reading: Reading): Anchor | undefined {
  const { places } = reading;
  if (places.size === 0) return undefined;
  const [left, right, top, bottom] = ['left', 'right', 'top', 'bottom'].map((side) => places.has(side));
  if ((left && right) || (top && bottom)) throw contradiction('it names two opposite sides');
  places.clear();
  takeMarks(reading, 'corner', 'edge', 'side', 'part');
  return { x: left ? 0 : right ? 1 : 0.5, y: top ? 0 : bottom ? 1 : 0.5 };
}

/** Pixels or per cent of the shorter side. A bare number is pixels. */
export function lengthOf({ value, unit }: Amount, bounds: { pixels: number; share: number }): Length {
  if (unit === 'degrees' || unit === 'times') throw contradiction('a length is given in pixels or per cent');
  const length: Length = unit === '%' ? { share: value / 100 } : { pixels: value };
  const isOf = unit === '%' ? value / 100 <= bounds.share : value >= 1 && value <= bounds.pixels;
  if (!isOf || value <= 0) {
    throw contradiction(`a length there is 1–${bounds.pixels} pixels or up to ${bounds.share * 100}%`);
  }
  return length;
}

/** 0–1 of a number in per cent. */
export function shareOf({ value, unit }: Amount, what: string): number {
  if (unit !== undefined && unit !== '%') throw contradiction(`${what} is given in per cent`);
  if (!(value > 0 && value <= 100)) throw contradiction(`${what} is above 0 and at most 100%`);
  return value / 100;
}

/** One of three by "slightly", nothing and "strongly". */
export function byDegree(degree: number, [little, usual, much]: readonly [number, number, number]): number {
  if (degree === 1) return usual;
  return degree < 1 ? little : much;
}
