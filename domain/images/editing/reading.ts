/** What the words of one clause say, sorted by the part that they play. Whoever uses a part takes it away. */
import {
  DEGREES,
  DIRECTIONS,
  FILLERS,
  FRACTIONS,
  HEADS,
  type Head,
  IMAGE_NOUNS,
  MARKS,
  MULTIPLES,
  ORDINALS,
  OTHERS,
  PARTICLES,
  POSITIONS,
} from './lexicon.ts';
import type { Colour } from './plan.ts';
import { contradiction } from './refusal.ts';
import { refuseToken, type Token, type Unit, wordOf } from './tokens.ts';

export interface Amount {
  /** Of a fraction in per cent: half is 50. */
  value: number;
  unit?: Unit;
  /** Written with a plus or minus. */
  signed: boolean;
  isFraction?: boolean;
  preposition?: 'to' | 'by';
  /** What it is the amount of, where that stands beside it. */
  noun?: string;
}

/** 0 stands for "the other image". */
interface Reference {
  image: number;
  at: number;
}

export interface Reading {
  heads: { head: Head; word: string }[];
  direction?: 1 | -1;
  /** "Up", "down" and "add". */
  particle?: 1 | -1;
  degree?: { factor: number; word: string };
  amounts: Amount[];
  size?: { width: number; height: number };
  ratio?: number;
  colours: { name: string; colour: Colour }[];
  quote?: string;
  places: Set<string>;
  references: Reference[];
  /** With the place where each first stands. */
  marks: Map<string, number>;
}

/** Nouns that say what a number beside them measures. */
const NOUNS: ReadonlySet<string> = new Set(
  (
    'width wide height tall high longside opacity opaque transparent transparency size sized scale radius ' +
    'edges edge sides side'
  ).split(' '),
);
const LINKS: ReadonlySet<string> = new Set(['of', 'to', 'at', 'by', 'is', 'the', 'its', 'in', 'off']);

/** Throws FareboxError for a word that nothing is known of. */
export function readClause(tokens: readonly Token[]): Reading {
  const reading: Reading = {
    heads: [],
    amounts: [],
    colours: [],
    places: new Set(),
    references: [],
    marks: new Map(),
  };
  const claimed = new Set<number>();
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (token?.kind === 'word') at = readWord(reading, tokens, { at, word: token.text });
    else if (token?.kind === 'number') reading.amounts.push(amountAt(tokens, at, claimed));
    else if (token) readThing(reading, token);
  }
  return reading;
}

function readThing(reading: Reading, token: Token): void {
  if (token.kind === 'colour') reading.colours.push(token);
  if (token.kind === 'quote') {
    if (reading.quote !== undefined) throw contradiction('two quoted texts stand where one is expected');
    reading.quote = token.text;
  }
  if (token.kind === 'size') {
    if (reading.size) throw contradiction('it has two sizes where one is expected');
    reading.size = token;
  }
  if (token.kind === 'ratio') {
    if (reading.ratio !== undefined) throw contradiction('it has two ratios where one is expected');
    reading.ratio = ratioOf(token);
  }
}

const MOST_RATIO = 20;

function ratioOf({ width, height }: { width: number; height: number }): number {
  const ratio = width / height;
  if (!(ratio >= 1 / MOST_RATIO && ratio <= MOST_RATIO)) {
    throw contradiction(`a ratio is between 1:${MOST_RATIO} and ${MOST_RATIO}:1`);
  }
  return ratio;
}

interface Place {
  at: number;
  word: string;
}

/** Answers the place of the last token that it used. */
function readWord(reading: Reading, tokens: readonly Token[], { at, word }: Place): number {
  const next = tokens[at + 1];
  const image = imageAt(tokens, { at, word });
  if (image) {
    reading.references.push({ image: image.image, at });
    return at + image.length - 1;
  }
  if (readQuantity(reading, tokens, { at, word })) return at;
  const side = POSITIONS.get(word);
  if (side !== undefined && (word !== 'lower' || isPlaceWord(next))) {
    reading.places.add(side);
    return at;
  }
  const isFiller =
    FILLERS.has(word) || (IMAGE_NOUNS.has(word) && wordOf(tokens[at - 1]) !== undefined && word !== 'one');
  if (!readMeaning(reading, { at, word }, isMeasured(tokens, at)) && !isFiller && tokens[at]) {
    refuseToken(tokens[at]);
  }
  return at;
}

/** A word may be several: whichever operation it is, takes what it needs. False: it is none. */
function readMeaning(reading: Reading, { at, word }: Place, measured: boolean): boolean {
  const head = HEADS.get(word);
  if (head) reading.heads.push({ head, word });
  const particle = PARTICLES.get(word);
  if (particle !== undefined) reading.particle = particle;
  // "800 pixels high" is no wish for more.
  const isSide = word === 'high' || word === 'wide';
  const isMark = MARKS.has(word) && (!isSide || measured);
  if (isMark && !reading.marks.has(word)) reading.marks.set(word, at);
  const direction = isSide && measured ? undefined : DIRECTIONS.get(word);
  if (direction !== undefined) reading.direction = direction;
  const factor = isSide && measured ? undefined : DEGREES.get(word);
  if (factor !== undefined) reading.degree = { factor, word };
  return [head, particle, direction, factor].some((meaning) => meaning !== undefined) || isMark;
}

function isMeasured(tokens: readonly Token[], at: number): boolean {
  return tokens[at - 1]?.kind === 'number';
}

function isPlaceWord(token: Token | undefined): boolean {
  const word = wordOf(token);
  return (
    word !== undefined &&
    (POSITIONS.has(word) || FRACTIONS.has(word) || /^(?:corner|third|part|edge|side)$/.test(word))
  );
}

function readQuantity(reading: Reading, tokens: readonly Token[], { at, word }: Place): boolean {
  const before = wordOf(tokens[at - 1]);
  const isThird = word === 'third' && before !== undefined && POSITIONS.has(before);
  const fraction = isThird ? 1 / 3 : FRACTIONS.get(word);
  const times = MULTIPLES.get(word);
  if (fraction === undefined && times === undefined) return false;
  const preposition = prepositionBefore(tokens, at);
  const noun = nounAfter(tokens, at);
  reading.amounts.push({
    ...(fraction === undefined
      ? { value: times ?? 1, unit: 'times' }
      : { value: fraction * 100, unit: '%', isFraction: true }),
    signed: false,
    ...(preposition && { preposition }),
    ...(noun && { noun: noun.word }),
  });
  return true;
}

/** "the second image", "image 2", "the other one", "the logo". */
function imageAt(
  tokens: readonly Token[],
  { at, word }: Place,
): { image: number; length: number } | undefined {
  const next = tokens[at + 1];
  const before = wordOf(tokens[at - 1]);
  if (IMAGE_NOUNS.has(word) && next?.kind === 'number' && next.unit === undefined && !next.signed) {
    if (Number.isInteger(next.value) && next.value >= 1 && next.value <= 9)
      return { image: next.value, length: 2 };
  }
  const isThirdPart = word === 'third' && before !== undefined && POSITIONS.has(before);
  const image = OTHERS.has(word) ? 0 : ORDINALS.get(word);
  if (image === undefined || isThirdPart) return undefined;
  const noun = wordOf(next);
  return { image, length: noun !== undefined && IMAGE_NOUNS.has(noun) ? 2 : 1 };
}

function amountAt(tokens: readonly Token[], at: number, claimed: Set<number>): Amount {
  const token = tokens[at];
  if (token?.kind !== 'number') throw new RangeError('no number is there');
  const { value, unit, signed } = token;
  const preposition = prepositionBefore(tokens, at);
  const before = nounBefore(tokens, at);
  const noun = before && !claimed.has(before.at) ? before : nounAfter(tokens, at);
  if (noun) claimed.add(noun.at);
  return {
    value,
    signed,
    ...(unit && { unit }),
    ...(preposition && { preposition }),
    ...(noun && { noun: noun.word }),
  };
}

function prepositionBefore(tokens: readonly Token[], at: number): 'to' | 'by' | undefined {
  for (const word of [wordOf(tokens[at - 1]), wordOf(tokens[at - 2])]) {
    if (word === 'to' || word === 'by') return word;
    if (word === undefined || !FILLERS.has(word)) return undefined;
  }
  return undefined;
}

function nounBefore(tokens: readonly Token[], from: number): Place | undefined {
  for (let at = from - 1; at >= Math.max(0, from - 4); at -= 1) {
    const word = wordOf(tokens[at]);
    if (word === undefined) return undefined;
    if (NOUNS.has(word)) return { at, word };
    if (!LINKS.has(word)) return undefined;
  }
  return undefined;
}

function nounAfter(tokens: readonly Token[], from: number): Place | undefined {
  for (let at = from + 1; at <= from + 4; at += 1) {
    const word = wordOf(tokens[at]);
    if (word === undefined) return undefined;
    if (NOUNS.has(word)) return { at, word };
    if (!LINKS.has(word)) return undefined;
  }
  return undefined;
}

/** Verbs that fit many operations. */
const SILENT: ReadonlySet<string> = new Set(['turn', 'turned', 'put', 'place', 'insert']);

/** Throws when a part of the clause was left: it is nothing to that operation. */
export function refuseRest(reading: Reading): void {
  const leftHead = reading.heads[0];
  if (leftHead) refuseToken({ kind: 'word', text: leftHead.word });
  const word = [...reading.places, ...reading.marks.keys()].find((left) => !SILENT.has(left));
  if (word) refuseToken({ kind: 'word', text: word });
  if (reading.amounts.length > 0 || reading.size || reading.ratio !== undefined) {
    throw contradiction('it has a number too many, or one that does not belong there');
  }
  if (reading.colours[0]) refuseToken({ kind: 'colour', ...reading.colours[0] });
  if (reading.quote !== undefined) refuseToken({ kind: 'quote', text: '' });
  if (reading.references.some(({ image }) => image !== 1)) {
    throw contradiction('a further image is named where none is expected');
  }
  if (reading.direction !== undefined)
    refuseToken({ kind: 'word', text: reading.direction > 0 ? 'more' : 'less' });
  if (reading.degree) refuseToken({ kind: 'word', text: reading.degree.word });
  if (reading.particle === -1) refuseToken({ kind: 'word', text: 'down' });
}
