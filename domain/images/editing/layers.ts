/** Clauses that put something on the picture: a text, or a further image as a layer or a mask. */
import { byDegree, lengthOf, takeAmount, takeAnchor, takeColour, takeMarks } from './amounts.ts';
import { type Blend, CENTRE, type Length, type OverlayStep, type SurfaceStep } from './plan.ts';
import type { Amount, Reading } from './reading.ts';
import { contradiction } from './refusal.ts';
import { takeOpacity } from './tones.ts';

const TEXT_SIZE = { pixels: 4_000, share: 1 } as const;

export function textStep(reading: Reading): SurfaceStep {
  const { quote } = reading;
  if (quote === undefined)
    throw contradiction('the text needs quotation marks, as in: write "Hello" at the top');
  delete reading.quote;
  const amount = takeAmount(reading);
  const usual: Length | undefined =
    reading.degree === undefined
      ? undefined
      : { share: byDegree(reading.degree.factor, [0.045, 0.09, 0.16]) };
  delete reading.degree;
  delete reading.direction;
  delete reading.particle;
  takeMarks(reading, 'font', 'high', 'tall', 'height', 'over', 'onto');
  reading.heads = reading.heads.filter(({ head, word }) => head.op !== 'text' && word !== 'size');
  const size = amount ? lengthOf(amount, TEXT_SIZE) : usual;
  return {
    do: 'text',
    text: quote,
    anchor: takeAnchor(reading) ?? { x: 0.5, y: 1 },
    colour: takeColour(reading) ?? { red: 255, green: 255, blue: 255 },
    ...(size && { size }),
  };
}

export interface Mask {
  image: number;
  inverted: boolean;
}

/** The number of the image that is meant; throws when there is none of that number. */
function imageOf(image: number, images: number): number {
  if (image === 0 && images === 2) return 2;
  if (image === 0) throw contradiction('say which further image is meant, as in "the second image"');
  if (image > images)
    throw contradiction(`it names image ${image}, and ${images === 1 ? 'one came' : `${images} came`}`);
  return image;
}

/** Takes the image that is named as a mask. */
export function takeMask(reading: Reading, images: number): Mask | undefined {
  const { marks } = reading;
  const at = ['mask', 'masked', 'invertedmask', 'where']
    .map((word) => marks.get(word))
    .find((place) => place !== undefined);
  if (at === undefined) return undefined;
  const isWhere = marks.has('where');
  const further = reading.references.filter(({ image }) => image !== 1);
  const before = further.filter((reference) => reference.at < at).at(-1);
  const after = further.find((reference) => reference.at > at);
  const reference = isWhere || marks.has('masked') ? (after ?? before) : (before ?? after);
  reading.references = reading.references.filter((other) => other !== reference);
  const image = imageOf(reference?.image ?? 0, images);
  const colour = isWhere ? reading.colours.findIndex(({ name }) => name === 'black' || name === 'white') : -1;
  const [named] = colour < 0 ? [] : reading.colours.splice(colour, 1);
  const inverted = marks.has('invertedmask') || named?.name === 'black';
  takeMarks(reading, 'mask', 'masked', 'invertedmask', 'where', 'area', 'part', 'only', 'over', 'onto');
  return { image, inverted };
}

export function isLayer(reading: Reading): boolean {
  return (
    reading.references.some(({ image }) => image !== 1) ||
    reading.heads.some(({ head }) => head.op === 'overlay')
  );
}

export function layerStep(reading: Reading, images: number): OverlayStep {
  const further = reading.references.filter(({ image }) => image !== 1);
  if (further.length > 1) throw contradiction('put one image over the first at a time');
  const words = reading.heads.map(({ word }) => word);
  const image = imageOf(further[0]?.image ?? 0, images);
  reading.references = [];
  const blends = words.some((word) => /^(?:blend|blended|mix)$/.test(word));
  refuseEdited(reading);
  const opacity = layerOpacity(reading, blends);
  const fills = takeMarks(reading, 'fill', 'fills', 'cover', 'covering', 'stretch', 'stretched');
  const blend: Blend = takeMarks(reading, 'multiply')
    ? 'multiply'
    : takeMarks(reading, 'screen')
      ? 'screen'
      : 'over';
  const width = layerWidth(reading);
  takeMarks(reading, 'over', 'onto', 'fit', 'fits', 'inside', 'within');
  return {
    do: 'overlay',
    image,
    anchor: takeAnchor(reading) ?? CENTRE,
    ...(width && { width }),
    fills: fills || (blends && width === undefined && reading.places.size === 0),
    opacity,
    blend,
  };
}

const OF_LAYERS: readonly string[] = ['overlay', 'opacity', 'transparency', 'resize'];

function refuseEdited({ heads, marks, places, amounts }: Reading): void {
  if (heads.some(({ head }) => !OF_LAYERS.includes(head.op))) {
    throw contradiction('only the first image is edited; the others are layers over it or masks');
  }
  const isPlaced = heads.length > 0 || places.size > 0 || amounts.length > 0;
  if (
    !isPlaced &&
    !['over', 'onto', 'put', 'place', 'insert', 'fill', 'cover'].some((word) => marks.has(word))
  ) {
    throw contradiction(
      'it does not say what the further image is for; say "put it over the first" or "as a mask"',
    );
  }
}

function layerOpacity(reading: Reading, blends: boolean): number {
  const named = reading.heads.find(({ head }) => head.op === 'opacity' || head.op === 'transparency');
  const kind = named?.head.op === 'transparency' ? 'transparency' : 'opacity';
  reading.heads = reading.heads.filter(({ head }) => !OF_LAYERS.includes(head.op));
  const ofBlend = reading.amounts.findIndex(({ noun, unit }) => noun === undefined && unit === '%');
  if (named) {
    const isNumbered = reading.amounts.some(({ noun }) => noun !== undefined && /^(?:opa|trans)/.test(noun));
    return isNumbered || kind === 'opacity' ? takeOpacity(reading, kind) : 0.5;
  }
  if (blends && ofBlend >= 0) {
    const [amount] = reading.amounts.splice(ofBlend, 1);
    const value = amount?.value ?? 50;
    if (!(value > 0 && value <= 100)) throw contradiction('opacity is above 0 and at most 100%');
    return value / 100;
  }
  return blends && !reading.marks.has('multiply') && !reading.marks.has('screen') ? 0.5 : 1;
}

/** Bounds of a layer's width: it may stand out a little. */
const LAYER_WIDTH = { pixels: 8_192, share: 2 } as const;
/** "Small" and "large" of the picture's width. */
const LAYER_SHARES = [0.2, 0.4, 0.75] as const;

function layerWidth(reading: Reading): Length | undefined {
  const { degree } = reading;
  delete reading.degree;
  const amount: Amount | undefined = takeAmount(reading);
  takeMarks(reading, 'width', 'wide');
  if (amount === undefined)
    return degree === undefined ? undefined : { share: byDegree(degree.factor, LAYER_SHARES) };
  if (amount.noun !== undefined && /^(?:height|tall|high|longside)$/.test(amount.noun)) {
    throw contradiction('the size of a layer is given by its width, as in "at 30% width"');
  }
  return lengthOf(amount, LAYER_WIDTH);
}
