/** Tables of the words beside the verbs of a prompt. */
import type { Colour } from './plan.ts';

/** Map from each word of the keys, which are lists of words. */
export function wordMap<Value>(table: readonly (readonly [words: string, value: Value])[]): ReadonlyMap<string, Value> {
  return new Map(table.flatMap(([words, value]) => words.split(' ').map((word) => [word, value] as const)));
}

/** Words without a meaning for the edit. */
export const FILLERS: ReadonlySet<string> = new Set(
  (
    'a an the of this that these it its my me i so is are be at on in with by to into for please kindly could ' +
    'can would you want wish need just now simply overall entire whole all everything make convert change changed set ' +
    'add give get apply use using do let look looks looking create effect filter tone tones style version image images ' +
    "picture pictures photo photos pic some one first 1st base original colour color colours colors up down let's it's " +
    'thanks'
  ).split(' '),
);

/** Phrases that mean one word; an empty one is a filler. */
export const PHRASES: readonly (readonly [pattern: RegExp, word: string])[] = [
  [/black[\s-]{1,3}(?:and|&)[\s-]{1,3}white(?!\p{L})/iuy, 'greyscale'],
  [/b ?(?:&|and) ?w(?!\p{L})/iuy, 'greyscale'],
  [/turn it into(?!\p{L})/iuy, ''],
  [/upside[\s-]down(?!\p{L})/iuy, 'upsidedown'],
  [/(?:counter|anti)[\s-]?clockwise(?!\p{L})/iuy, 'counterclockwise'],
  [/(?:semi[\s-]?|half[\s-])transparent(?!\p{L})/iuy, 'translucent'],
  [/see[\s-]through(?!\p{L})/iuy, 'translucent'],
  [/cut[\s-]?out(?!\p{L})/iuy, 'cutout'],
  [/inver(?:ted|se)[\s-]mask(?!\p{L})/iuy, 'invertedmask'],
  [/long(?:er|est)?[\s-](?:side|edge)(?!\p{L})/iuy, 'longside'],
  [/scale[\s-]down(?!\p{L})/iuy, 'shrink'],
  [/scale[\s-]up(?!\p{L})/iuy, 'enlarge'],
  [/dark[\s-]vignette(?!\p{L})/iuy, 'vignette'],
  // Not the right or the left of the picture: no verb knows this word.
  [/to the (?:right|left) of(?!\p{L})/iuy, 'beside'],
];

/** Words between two steps: true if the second may continue the first. */
export const BREAKS: ReadonlyMap<string, boolean> = wordMap([
  ['and also plus , & +', true],
  ['then afterwards finally . ; ! ? – —', false],
]);

export const PLACES: ReadonlyMap<string, 'left' | 'right' | 'top' | 'bottom' | 'centre'> = wordMap([
  ['left', 'left'],
  ['right', 'right'],
  ['top upper', 'top'],
  ['bottom', 'bottom'],
  ['center centre middle', 'centre'],
]);

/** Factors of the usual amount. */
export const STRENGTHS: ReadonlyMap<string, number> = wordMap([
  ['slightly somewhat little bit subtle subtly gently gentle lightly soft softly faint thin small narrow', 0.5],
  ['much strongly strong very heavily heavy significantly really extremely dramatically lot thick large big huge', 2],
]);

export const DIRECTIONS: ReadonlyMap<string, 1 | -1> = wordMap([
  ['more increase raise boost higher high', 1],
  ['less reduce decrease lower low', -1],
]);

export type Side = 'width' | 'height' | 'longSide';

/** Words that name what the number beside them measures. */
export const SIDES: ReadonlyMap<string, Side> = wordMap([
  ['width wide', 'width'],
  ['height high tall', 'height'],
  ['longside', 'longSide'],
]);

export type Unit = '%' | 'px' | 'degrees' | 'times';

export const UNITS: ReadonlyMap<string, Unit> = wordMap([
  ['% percent pct', '%'],
  ['px pixel pixels', 'px'],
  ['° deg degree degrees', 'degrees'],
  ['x times', 'times'],
]);

/** Numbers in words. */
export const NUMBERS: ReadonlyMap<string, { value: number; unit: Unit }> = wordMap([
  ['half', { value: 50, unit: '%' }],
  ['double twice', { value: 2, unit: 'times' }],
  ['triple', { value: 3, unit: 'times' }],
]);

/** Number of an image in the request; 0 is its only further image. */
export const IMAGES: ReadonlyMap<string, number> = wordMap([
  ['second 2nd', 2],
  ['third 3rd', 3],
  ['fourth 4th', 4],
  ['other logo watermark sticker stamp signature', 0],
]);

export const WHITE: Colour = { red: 255, green: 255, blue: 255 };
export const BLACK: Colour = { red: 0, green: 0, blue: 0 };

/** Shares of the way to white (positive) or black. */
const SHADES: ReadonlyMap<string, number> = new Map([
  ['light', 0.5],
  ['dark', -0.45],
]);

const COLOURS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    white: 0xffffff,
    black: 0x000000,
    red: 0xe02020,
    green: 0x1e9e3a,
    blue: 0x1f5fe0,
    yellow: 0xffd91a,
    orange: 0xff8c1a,
    purple: 0x8030c0,
    pink: 0xff6fb0,
    cyan: 0x20d0e8,
    teal: 0x108080,
    brown: 0x8a5530,
    beige: 0xf0e4cc,
    gold: 0xe0b030,
    silver: 0xc0c4c8,
    grey: 0x808080,
    gray: 0x808080,
  }),
);

/** `before`: the word before the name, which may be a shade. */
export function namedColour(name: string, before: string): { colour: Colour; isShaded: boolean } | undefined {
  const value = COLOURS.get(name);
  if (value === undefined) return undefined;
  const shade = SHADES.get(before) ?? 0;
  const shaded = (part: number) => Math.round(shade >= 0 ? part + (255 - part) * shade : part * (1 + shade));
  const colour = { red: shaded(value >> 16), green: shaded((value >> 8) & 255), blue: shaded(value & 255) };
  return { colour, isShaded: shade !== 0 };
}
