/** Splits a prompt into words, numbers, sizes, ratios, colours, quoted texts and images, once from left to right. */
import { type Colour, MAX_TEXT_CHARACTERS } from './plan.ts';
import { contradiction, impossibleEdit } from './refusal.ts';
import {
  BREAKS,
  DIRECTIONS,
  FILLERS,
  IMAGES,
  NUMBERS,
  namedColour,
  PHRASES,
  PLACES,
  SIDES,
  type Side,
  STRENGTHS,
  UNITS,
  type Unit,
} from './words.ts';

export interface Amount {
  value: number;
  unit: Unit | undefined;
  /** Written with a plus or minus. */
  signed: boolean;
  /** "To 50%", not "by 50%". */
  isTo: boolean;
}

type Meaning =
  | { kind: 'word' }
  | ({ kind: 'number' } & Amount)
  /** A number and what it measures: "800 pixels wide". */
  | ({ kind: 'side'; side: Side } & Amount)
  | { kind: 'size'; width: number; height: number }
  | { kind: 'ratio'; ratio: number }
  | { kind: 'colour'; colour: Colour }
  | { kind: 'quote' }
  /** 2 is the second image of the request; 0 is its only further image. */
  | { kind: 'image'; image: number }
  | { kind: 'place'; place: 'left' | 'right' | 'top' | 'bottom' | 'centre' }
  | { kind: 'strength'; strength: number }
  | { kind: 'direction'; direction: 1 | -1 }
  /** Between two steps; loose: a comma or "and", not "then" or a full stop. */
  | { kind: 'break'; isLoose: boolean };

/** `text`: the word in lower case, or the text between the quotation marks. */
export type Token = Meaning & { text: string };
export type Kind = Token['kind'];
export type TokenOf<Name extends Kind> = Extract<Token, { kind: Name }>;

interface Reader {
  tokens: Token[];
  /** "To" comes directly before. */
  isTo: boolean;
}

type Rule = readonly [pattern: RegExp, read: (reader: Reader, found: readonly string[]) => void];

// No pattern backtracks.
const RULES: readonly Rule[] = [
  [/[\s()]+/y, (reader, [spaces]) => spaces?.includes('\n') && push(reader, '.', { kind: 'break', isLoose: false })],
  [/["“„«]([^"“”»]*)["“”»]/y, readQuote],
  // An apostrophe is followed by a letter, a closing quotation mark is not.
  [/['‘`]((?:[^'’`]|['’](?=[\p{L}\p{N}]))*)['’`](?![\p{L}\p{N}])/uy, readQuote],
  [/#(?:[0-9a-f]{6}|[0-9a-f]{3})(?![0-9a-z])/iy, (reader, [hex = '']) => push(reader, hex, hexColour(hex))],
  [
    /(\d{1,9})\s{0,3}(?:px|pixels?)?\s{0,3}(?:x|×|\*|by)\s{0,3}(\d{1,9})(\s{0,3}(?:px|pixels?))?(?![\p{L}\d.%])/iuy,
    readSize,
  ],
  [/(\d{1,5}(?:\.\d{1,3})?)\s{0,3}[:/]\s{0,3}(\d{1,5}(?:\.\d{1,3})?)/y, readRatio],
  [/(?:image|picture|photo|layer)\s{1,3}#?([1-9])(?!\s{0,3}(?:[\d.%°x]|px|pixel|percent|deg|times))/iy, readImage],
  [/[1-4](?:st|nd|rd|th)(?!\p{L})/iuy, readWord],
  [
    /([+-]?\d{1,9}(?:\.\d{1,6})?)(?:\s{0,3}(%|°|(?:percent|pct|px|pixels?|degrees?|deg|times|x)(?![\p{L}\d])))?/iuy,
    readNumber,
  ],
  ...PHRASES.map(([pattern, word]): Rule => [pattern, (reader) => word !== '' && readWord(reader, [word])]),
  [/\p{L}[\p{L}\p{M}\p{N}]*(?:['’]\p{L}{1,2}(?![\p{L}\p{N}]))?/uy, readWord],
  [/[,.;!?&+–—]/y, readWord],
  [/-/y, () => undefined],
];

/** Limited because every token is read a few times. */
const MAX_TOKENS = 600;

/** Throws FareboxError for unsupported characters. */
export function tokenize(prompt: string): Token[] {
  const reader: Reader = { tokens: [], isTo: false };
  for (let at = 0; at < prompt.length; ) {
    at += readOne(reader, prompt, at);
    if (reader.tokens.length > MAX_TOKENS) throw contradiction('it is too long');
  }
  return reader.tokens;
}

/** Returns the number of characters used. */
function readOne(reader: Reader, prompt: string, at: number): number {
  for (const [pattern, read] of RULES) {
    pattern.lastIndex = at;
    const found = pattern.exec(prompt);
    if (!found) continue;
    read(reader, found);
    return found[0].length;
  }
  if (/["“„«'‘`]/.test(prompt[at] ?? '')) throw contradiction('a quotation mark is not closed');
  throw impossibleEdit('it has a character that is not understood');
}

function push(reader: Reader, text: string, value: Meaning): void {
  reader.tokens.push({ ...value, text });
  reader.isTo = false;
}

function readQuote(reader: Reader, [, quoted = '']: readonly string[]): void {
  const text = quoted
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .replaceAll(/[\p{Cs}\p{Co}\p{Cn}]/gu, '')
    .trim();
  if (text === '') throw contradiction('the text in quotation marks is empty');
  if ([...text].length > MAX_TEXT_CHARACTERS) {
    throw contradiction(`the text in quotation marks has more than ${MAX_TEXT_CHARACTERS} characters`);
  }
  push(reader, text, { kind: 'quote' });
}

function hexColour(hex: string): Meaning {
  const digits = hex.length === 4 ? [...hex.slice(1)].map((digit) => digit + digit).join('') : hex.slice(1);
  const part = (from: number) => Number.parseInt(digits.slice(from, from + 2), 16);
  return { kind: 'colour', colour: { red: part(0), green: part(2), blue: part(4) } };
}

/** A size below is a ratio: "16x9". */
const MAX_OF_RATIO = 32;

function readSize(reader: Reader, found: readonly string[]): void {
  const [text = '', width, height, pixels] = found;
  const size = { width: Number(width), height: Number(height) };
  if (pixels === undefined && Math.max(size.width, size.height) <= MAX_OF_RATIO) readRatio(reader, found);
  else push(reader, text, { kind: 'size', ...size });
}

const MAX_RATIO = 20;

function readRatio(reader: Reader, [text = '', width, height]: readonly string[]): void {
  const ratio = Number(width) / Number(height);
  if (!(ratio >= 1 / MAX_RATIO && ratio <= MAX_RATIO)) {
    throw contradiction(`a ratio is between 1:${MAX_RATIO} and ${MAX_RATIO}:1`);
  }
  push(reader, text, { kind: 'ratio', ratio });
}

/** Skips the first image, which is the picture itself. */
function readImage(reader: Reader, [text = '', image]: readonly string[]): void {
  if (image !== '1') push(reader, text, { kind: 'image', image: Number(image) });
}

function readNumber(reader: Reader, [text = '', number = '', unit = '']: readonly string[]): void {
  const amount = {
    value: Number(number),
    unit: UNITS.get(unit.toLowerCase()),
    signed: /^[+-]/.test(number),
    isTo: reader.isTo,
  };
  const last = reader.tokens.at(-1);
  const side = last?.kind === 'word' ? SIDES.get(last.text) : undefined;
  if (side) reader.tokens.pop();
  push(reader, text, side ? { kind: 'side', side, ...amount } : { kind: 'number', ...amount });
}

function readWord(reader: Reader, [found = '']: readonly string[]): void {
  const text = found.toLowerCase().replace('’', "'");
  if (text === 'to') reader.isTo = true;
  if (FILLERS.has(text)) return;
  const last = reader.tokens.at(-1);
  const side = SIDES.get(text);
  const named = namedColour(text, last?.kind === 'word' ? last.text : '');
  if (named?.isShaded || (side && last?.kind === 'number')) reader.tokens.pop();
  if (named) push(reader, text, { kind: 'colour', colour: named.colour });
  else if (side && last?.kind === 'number') push(reader, last.text, { ...last, kind: 'side', side });
  else push(reader, text, meaningOf(text, reader));
}

function meaningOf(text: string, { isTo }: Reader): Meaning {
  const isLoose = BREAKS.get(text);
  if (isLoose !== undefined) return { kind: 'break', isLoose };
  const place = PLACES.get(text);
  if (place !== undefined) return { kind: 'place', place };
  const strength = STRENGTHS.get(text);
  if (strength !== undefined) return { kind: 'strength', strength };
  const direction = DIRECTIONS.get(text);
  if (direction !== undefined) return { kind: 'direction', direction };
  const image = IMAGES.get(text);
  if (image !== undefined) return { kind: 'image', image };
  const number = NUMBERS.get(text);
  return number === undefined ? { kind: 'word' } : { kind: 'number', ...number, signed: false, isTo };
}
