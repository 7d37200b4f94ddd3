/** One clause of a prompt: a verb, and the parts that it reads. */
import type { Colour, EditStep } from './plan.ts';
import { contradiction, impossibleEdit, unknownWord, unquotedText } from './refusal.ts';
import type { Amount, Kind, Token, TokenOf } from './tokens.ts';

/** The parts of a clause, sorted by their kinds. */
export interface Clause {
  has(...words: string[]): boolean;
  numbers: readonly Amount[];
  sides: readonly TokenOf<'side'>[];
  size?: { width: number; height: number };
  ratio?: number;
  colour?: Colour;
  quote?: string;
  /** 2 is the second image; throws when there is no such image. */
  image(): number;
  places: readonly TokenOf<'place'>['place'][];
  strength?: number;
  direction?: 1 | -1;
}

export interface Verb {
  words: string;
  /** Kinds of parts that the verb reads, each up to its number of occurrences here. */
  takes: readonly Kind[];
  /** Largest number of kinds of numbers, sizes and ratios together; default 1. */
  measures?: number;
  /** Further words that the verb understands. */
  options?: string;
  read(clause: Clause): EditStep | EditStep[];
}

/** `images`: number of images. Throws FareboxError for a part that the verb does not read. */
export function clauseOf(tokens: readonly Token[], verb: Verb, images: number): Clause {
  refuseUnread(tokens, verb);
  const all = <Name extends Kind>(kind: Name) => tokens.filter((token): token is TokenOf<Name> => token.kind === kind);
  const [size] = all('size');
  const [ratio] = all('ratio');
  const [colour] = all('colour');
  const [quote] = all('quote');
  const [strength] = all('strength');
  const [direction] = all('direction');
  return {
    has: (...words) => all('word').some(({ text }) => words.includes(text)),
    numbers: all('number'),
    sides: all('side'),
    places: all('place').map(({ place }) => place),
    image: () => imageOf(all('image')[0]?.image ?? 0, images),
    ...(size && { size }),
    ...(ratio && { ratio: ratio.ratio }),
    ...(colour && { colour: colour.colour }),
    ...(quote && { quote: quote.text }),
    ...(strength && { strength: strength.strength }),
    ...(direction && { direction: direction.direction }),
  };
}

function imageOf(image: number, images: number): number {
  if (image === 0 && images === 2) return 2;
  if (image === 0) throw contradiction('say which further image is meant, as in "the second image"');
  if (image > images)
    throw contradiction(`it names image ${image}, and ${images === 1 ? 'one came' : `${images} came`}`);
  return image;
}

export function isOption({ options = '' }: Verb, word: string): boolean {
  return options.split(' ').includes(word);
}

function refuseUnread(tokens: readonly Token[], verb: Verb): void {
  const left = [...verb.takes];
  for (const token of tokens) {
    const { kind, text } = token;
    const isWord = kind === 'word' || kind === 'colour';
    if (isWord && (verb.words.split(' ').includes(text) || isOption(verb, text))) continue;
    if (kind === 'word' && left.includes('quote')) throw unquotedText();
    const place = left.indexOf(kind);
    if (place < 0) throw unreadPart(token, verb);
    left.splice(place, 1);
  }
  const measures = new Set(tokens.map(({ kind }) => kind).filter((kind) => MEASURES.has(kind)));
  if (measures.size > (verb.measures ?? 1)) throw contradiction(TOO_MANY);
}

const MEASURES: ReadonlySet<Kind> = new Set<Kind>(['number', 'side', 'size', 'ratio']);
const TOO_MANY = 'it has a number too many, or one that does not belong there';

/** Refusal of an unused part, or of a clause without a verb. */
export function unreadPart({ kind, text }: Token, verb?: Verb): Error {
  switch (kind) {
    case 'number':
    case 'side':
    case 'size':
    case 'ratio':
      return contradiction(TOO_MANY);
    case 'quote':
      return verb?.takes.includes(kind)
        ? contradiction('two quoted texts stand where one is expected')
        : impossibleEdit('a quoted text is not understood in its place');
    case 'colour':
      return impossibleEdit('a colour is not understood in its place');
    case 'image':
      return contradiction(
        verb?.takes.includes(kind)
          ? 'put one image over the first at a time'
          : 'only the first image is edited; the others are layers over it or masks',
      );
    default:
      return unknownWord(text);
  }
}
