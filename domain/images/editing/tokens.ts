/** A prompt as a list of words, numbers, sizes, ratios, colours and quoted texts; read once from left to right. */
import { type Colour, MOST_TEXT_CHARACTERS } from './plan.ts';
import { contradiction, notPossible, unknownWord } from './refusal.ts';

export type Unit = '%' | 'px' | 'degrees' | 'times';

export type Token =
  /** Lower case. */
  | { kind: 'word'; text: string }
  /** `signed`: written with a plus or minus. */
  | { kind: 'number'; value: number; unit?: Unit; signed: boolean }
  | { kind: 'size'; width: number; height: number }
  | { kind: 'ratio'; width: number; height: number }
  | { kind: 'colour'; name: string; colour: Colour }
  | { kind: 'quote'; text: string }
  /** Between two things to do. */
  | { kind: 'break'; isLoose: boolean };

/** Every token is looked at a few times. */
const MOST_TOKENS = 600;

const CLOSERS: Readonly<Record<string, string>> = {
  '"': '"',
  '“': '”',
  '„': '“',
  '«': '»',
  '‘': '’',
  "'": "'",
  '`': '`',
};
const UNITS: Readonly<Record<string, Unit>> = {
  '%': '%',
  percent: '%',
  pct: '%',
  px: 'px',
  pixel: 'px',
  pixels: 'px',
  '°': 'degrees',
  deg: 'degrees',
  degree: 'degrees',
  degrees: 'degrees',
  x: 'times',
  times: 'times',
};

// None of them can look at a character twice.
const WORD = /\p{L}[\p{L}\p{M}\p{N}]*(?:['’]\p{L}{1,2}(?![\p{L}\p{N}]))?/uy;
const NUMBER = /[+-]?\d{1,9}(?:\.\d{1,6})?/y;
const HEX = /#(?:[0-9a-f]{6}|[0-9a-f]{3})(?![0-9a-z])/iy;
const SPACES = /[\s()]+/y;

interface Reader {
  prompt: string;
  at: number;
  tokens: Token[];
}

/** Throws FareboxError for what no sentence of ours has. */
export function tokenize(prompt: string): Token[] {
  const reader: Reader = { prompt, at: 0, tokens: [] };
  while (reader.at < prompt.length) {
    readOne(reader);
    if (reader.tokens.length > MOST_TOKENS) throw contradiction('it is too long');
  }
  return joinNumbers(reader.tokens);
}

function readOne(reader: Reader): void {
  const { prompt, at, tokens } = reader;
  const next = prompt[at] ?? '';
  if (isQuoteHere(reader, next)) {
    readQuote(reader, CLOSERS[next] ?? next);
    return;
  }
  const token = tokenHere(reader, next);
  if (token) tokens.push(token);
  else if (take(reader, SPACES)) {
    if (prompt.slice(at, reader.at).includes('\n')) tokens.push({ kind: 'break', isLoose: false });
  } else {
    reader.at += 1;
    tokens.push(...mark(next));
  }
}

function tokenHere(reader: Reader, next: string): Token | undefined {
  const hex = take(reader, HEX);
  if (hex) return { kind: 'colour', name: hex, colour: hexColour(hex) };
  const number = /[\d+-]/.test(next) ? take(reader, NUMBER) : undefined;
  if (number) return { kind: 'number', value: Number(number), signed: /^[+-]/.test(number) };
  const word = isSizeSign(reader) ? undefined : take(reader, WORD);
  return word ? { kind: 'word', text: word.toLowerCase().replace('’', "'") } : undefined;
}

function take(reader: Reader, pattern: RegExp): string | undefined {
  pattern.lastIndex = reader.at;
  const found = pattern.exec(reader.prompt)?.[0];
  if (found) reader.at += found.length;
  return found;
}

/** The x of "800x600". */
function isSizeSign({ prompt, at, tokens }: Reader): boolean {
  return /[xX]/.test(prompt[at] ?? '') && tokens.at(-1)?.kind === 'number' && /\d/.test(prompt[at + 1] ?? '');
}

function mark(character: string): Token[] {
  // Within words; before a number it is its sign.
  if (character === '-') return [];
  if (character === ',') return [{ kind: 'break', isLoose: true }];
  if ('&+'.includes(character)) return [{ kind: 'word', text: 'and' }];
  if ('.;!?–—'.includes(character)) return [{ kind: 'break', isLoose: false }];
  if ('%°×:/*xX'.includes(character))
    return [{ kind: 'word', text: '×xX'.includes(character) ? 'x' : character }];
  throw notPossible('it has a character that is not understood');
}

/** An apostrophe in a word is none. */
function isQuoteHere({ prompt, at }: Reader, character: string): boolean {
  if (!Object.hasOwn(CLOSERS, character)) return false;
  return !"'‘`".includes(character) || at === 0 || !/[\p{L}\p{N}]/u.test(prompt[at - 1] ?? '');
}

function readQuote(reader: Reader, closer: string): void {
  const { prompt } = reader;
  let end = prompt.indexOf(closer, reader.at + 1);
  // Within single marks an apostrophe is followed by a letter.
  while (end >= 0 && "'’".includes(closer) && /[\p{L}\p{N}]/u.test(prompt[end + 1] ?? '')) {
    end = prompt.indexOf(closer, end + 1);
  }
  if (end < 0) throw contradiction('a quotation mark is not closed');
  const text = prompt
    .slice(reader.at + 1, end)
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .replaceAll(/[\p{Cs}\p{Co}\p{Cn}]/gu, '')
    .trim();
  if (text === '') throw contradiction('the text in quotation marks is empty');
  if ([...text].length > MOST_TEXT_CHARACTERS) {
    throw contradiction(`the text in quotation marks has more than ${MOST_TEXT_CHARACTERS} characters`);
  }
  reader.tokens.push({ kind: 'quote', text });
  reader.at = end + 1;
}

function hexColour(hex: string): Colour {
  const digits = hex.length === 4 ? [...hex.slice(1)].map((digit) => digit + digit).join('') : hex.slice(1);
  const part = (from: number) => Number.parseInt(digits.slice(from, from + 2), 16);
  return { red: part(0), green: part(2), blue: part(4) };
}

/** "800 x 600", "16:9", "30 percent": numbers with what belongs to them. */
function joinNumbers(tokens: readonly Token[]): Token[] {
  const joined: Token[] = [];
  for (let at = 0; at < tokens.length; ) {
    const pair = pairAt(tokens, at);
    const token = tokens[at];
    if (pair) {
      joined.push(pair.token);
      at += pair.length;
    } else if (token?.kind === 'number') {
      const unit = unitOf(tokens[at + 1]);
      joined.push(unit ? { ...token, unit } : token);
      at += unit ? 2 : 1;
    } else {
      if (token && wordOf(token) === '%') throw notPossible('it has a character that is not understood');
      if (token) joined.push(token);
      at += 1;
    }
  }
  return joined.filter((token) => ![':', '*', '/', '°'].includes(wordOf(token) ?? ''));
}

const SIZE_SIGNS = ['x', '*', 'by'];
const RATIO_SIGNS = [':', '/'];
/** A size below is a ratio: "16x9". */
const MOST_OF_RATIO = 32;

function pairAt(tokens: readonly Token[], from: number): { token: Token; length: number } | undefined {
  const first = tokens[from];
  if (first?.kind !== 'number' || first.signed) return undefined;
  let at = from + 1;
  if (unitOf(tokens[at]) === 'px') at += 1;
  const sign = wordOf(tokens[at]);
  const second = tokens[at + 1];
  if (sign === undefined || second?.kind !== 'number' || second.signed) return undefined;
  if (!SIZE_SIGNS.includes(sign) && !RATIO_SIGNS.includes(sign)) return undefined;
  at += 2;
  const inPixels = unitOf(tokens[at]) === 'px';
  const [width, height] = [first.value, second.value];
  const isRatio = RATIO_SIGNS.includes(sign) || (!inPixels && Math.max(width, height) <= MOST_OF_RATIO);
  const token: Token = { kind: isRatio ? 'ratio' : 'size', width, height };
  return { token, length: at - from + (inPixels ? 1 : 0) };
}

function unitOf(token: Token | undefined): Unit | undefined {
  const word = wordOf(token);
  return word !== undefined && Object.hasOwn(UNITS, word) ? UNITS[word] : undefined;
}

export function wordOf(token: Token | undefined): string | undefined {
  return token?.kind === 'word' ? token.text : undefined;
}

/** For a refusal: what could not be used. */
export function refuseToken(token: Token): never {
  if (token.kind === 'word') throw unknownWord(token.text);
  if (token.kind === 'quote') throw notPossible('a quoted text is not understood in its place');
  if (token.kind === 'colour') throw notPossible('a colour is not understood in its place');
  throw notPossible('a number is not understood in its place');
}
