/** Table of verbs, with those that place something on the picture. */
import { anchorOf, byStrength, lengthOf, opacityOf } from './amounts.ts';
import type { Verb } from './clause.ts';
import { LOOKS } from './lookVerbs.ts';
import { contradiction, unquotedText } from './refusal.ts';
import { CROP, RESIZE, ROTATE, SHAPES } from './shapeVerbs.ts';
import type { Token } from './tokens.ts';
import { WHITE, wordMap } from './words.ts';

const TEXT: Verb = {
  words: 'write text caption title label word words say saying letters inscribe',
  takes: ['quote', 'number', 'side', 'colour', 'strength', 'place', 'place'],
  options: 'corner over font size',
  read({ quote, numbers, sides, colour, strength, places }) {
    if (quote === undefined) throw unquotedText();
    const amount = numbers[0] ?? sides[0];
    const usual = strength === undefined ? undefined : { share: byStrength(strength, [0.045, 0.09, 0.16]) };
    const size = amount ? lengthOf(amount, { pixels: 4_000, share: 1 }) : usual;
    const anchor = anchorOf(places, { x: 0.5, y: 1 });
    return { do: 'text', text: quote, anchor, colour: colour ?? WHITE, ...(size && { size }) };
  },
};

/** A layer may exceed the picture a little. */
const MAX_LAYER_WIDTH = { pixels: 8_192, share: 2 } as const;

const OVERLAY: Verb = {
  words: 'put place insert overlay paste superimpose',
  takes: ['image', 'number', 'number', 'side', 'strength', 'place', 'place'],
  measures: 2,
  options: 'over onto corner opacity opaque',
  read({ image, numbers, sides: [side], strength, places, has }) {
    const rest = [...numbers];
    const opacity = has('opacity', 'opaque') ? opacityOf(rest.pop()) : 1;
    if (rest.length > 1 || (side && rest.length > 0)) throw contradiction('it has a number too many');
    if (side && side.side !== 'width') {
      throw contradiction('the size of a layer is given by its width, as in "at 30% width"');
    }
    const amount = side ?? rest[0];
    const usual = strength === undefined ? undefined : { share: byStrength(strength, [0.2, 0.4, 0.75]) };
    const width = amount ? lengthOf(amount, MAX_LAYER_WIDTH) : usual;
    return { do: 'overlay', image: image(), anchor: anchorOf(places), ...(width && { width }), opacity };
  },
};

export const MASK: Verb = {
  words: 'mask masked invertedmask',
  takes: ['image'],
  options: 'as from cutout',
  read: ({ image, has }) => ({ do: 'mask', image: image(), inverted: has('invertedmask'), steps: [] }),
};

/** Verbs by each of their words. */
const VERB_OF: ReadonlyMap<string, Verb> = wordMap(
  [...SHAPES, ...LOOKS, TEXT, OVERLAY, MASK].map((verb) => [verb.words, verb] as const),
);

/** Verb of a word; "grey" is also a colour. */
export function verbOf({ kind, text }: Token): Verb | undefined {
  return kind === 'word' || kind === 'colour' ? VERB_OF.get(text) : undefined;
}

/** The verb of a clause without one: "16:9", "800x600", "2x", "90 degrees". */
export function impliedVerb(token: Token | undefined): Verb | undefined {
  switch (token?.kind) {
    case 'quote':
      return TEXT;
    case 'ratio':
      return CROP;
    case 'size':
    case 'side':
      return RESIZE;
    case 'number':
      if (token.unit === 'degrees') return ROTATE;
      return token.unit && RESIZE;
    default:
      return undefined;
  }
}
