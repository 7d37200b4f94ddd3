/** Verbs that cut, resize, turn and frame the picture. */
import { anchorOf, byStrength, lengthOf, shareOf, sidePixels } from './amounts.ts';
import type { Clause, Verb } from './clause.ts';
import { CIRCLE, type EditStep } from './plan.ts';
import { contradiction, unknownWord } from './refusal.ts';
import type { Amount, TokenOf } from './tokens.ts';
import { BLACK, WHITE } from './words.ts';

export const CROP: Verb = {
  words: 'crop cropped cropping trim square widescreen',
  takes: ['ratio', 'size', 'number', 'place', 'place'],
  options: 'circle circular ratio aspect corner part',
  read(clause) {
    const { numbers, size, places, has } = clause;
    const [amount] = numbers;
    const anchor = anchorOf(places);
    const ratio = ratioOf(clause);
    if (ratio !== undefined && (size || amount)) throw contradiction('it has both a size and a ratio to crop to');
    if (size) return { do: 'cropTo', width: sidePixels(size.width), height: sidePixels(size.height), anchor };
    if (ratio !== undefined) {
      return [{ do: 'crop', ratio, anchor }, ...(has('circle', 'circular') ? [CIRCLE] : [])];
    }
    if (!amount) throw contradiction('say to what it shall be cropped, as in "crop to 16:9" or "crop the left half"');
    const share = shareOf(amount, 'a piece of the picture');
    const isStrip = (anchor.x === 0.5) !== (anchor.y === 0.5);
    const [width, height] = [isStrip && anchor.x === 0.5 ? 1 : share, isStrip && anchor.y === 0.5 ? 1 : share];
    return { do: 'cropShare', width, height, anchor };
  },
};

function ratioOf({ ratio, has }: Clause): number | undefined {
  const square = has('square', 'circle', 'circular') ? 1 : undefined;
  const wide = has('widescreen') ? 16 / 9 : undefined;
  const ratios = [ratio, square, wide].filter((named) => named !== undefined);
  if (ratios.length > 1) throw contradiction('it has two ratios where one is expected');
  return ratios[0];
}

export const RESIZE: Verb = {
  words: 'resize resized scale scaled size enlarge upscale magnify bigger larger grow shrink downscale smaller',
  takes: ['size', 'number', 'side', 'side', 'direction', 'strength'],
  options: 'factor',
  read(clause) {
    const { size, numbers, sides } = clause;
    if (size) return { do: 'resize', width: sidePixels(size.width), height: sidePixels(size.height) };
    const [amount] = numbers;
    if (sides.length > 0) return resizeToSides(sides);
    if (amount?.unit === 'px' || (amount && amount.unit === undefined && amount.value > 8)) {
      return { do: 'resize', width: sidePixels(amount.value) };
    }
    return { do: 'scale', factor: scaleOf(clause, amount) };
  },
};

function resizeToSides(sides: readonly TokenOf<'side'>[]): EditStep {
  const [first, second] = sides;
  if (first?.side === second?.side) throw contradiction('it has two numbers for one side');
  if (sides.some(({ unit }) => unit !== undefined && unit !== 'px')) {
    throw contradiction('a side is given in pixels');
  }
  const named = new Map(sides.map(({ side, value }) => [side, sidePixels(value)]));
  const [width, height, pixels] = [named.get('width'), named.get('height'), named.get('longSide')];
  if (pixels !== undefined && second) throw contradiction('it has a number too many');
  if (pixels !== undefined) return { do: 'longSide', pixels };
  return { do: 'resize', ...(width !== undefined && { width }), ...(height !== undefined && { height }) };
}

/** "To half" and "half the size" scale to 50%; "smaller by 30%" to 70%. */
function scaleOf({ has, direction, strength }: Clause, amount: Amount | undefined): number {
  const shrinks = has('shrink', 'downscale', 'smaller');
  const grows = has('enlarge', 'upscale', 'magnify', 'bigger', 'larger', 'grow');
  const sign = direction ?? (shrinks ? -1 : grows ? 1 : undefined);
  if (amount === undefined) {
    if (sign === undefined) throw contradiction('say to which size, as in "resize to 800x600" or "half the size"');
    return byStrength(strength, sign > 0 ? [1.25, 2, 3] : [0.75, 0.5, 0.25]);
  }
  const { value, unit, isTo } = amount;
  if (unit === 'degrees') throw contradiction('a size has no degrees');
  if (!(value > 0)) throw contradiction('no picture would be left');
  if (unit !== '%') return sign === -1 ? 1 / value : value;
  const factor = sign === undefined || isTo ? value / 100 : 1 + (sign * value) / 100;
  if (factor < 0.01) throw contradiction('no picture would be left');
  return factor;
}

const PAD: Verb = {
  words: 'pad padded padding letterbox letterboxed',
  takes: ['ratio', 'colour'],
  options: 'square background bars',
  read(clause) {
    const ratio = ratioOf(clause);
    if (ratio === undefined) throw contradiction('say to which ratio it shall be padded, as in "pad to 16:9 in white"');
    return { do: 'pad', ratio, colour: clause.colour ?? BLACK };
  },
};

const BORDER: Verb = {
  words: 'border bordered frame framed',
  takes: ['number', 'side', 'colour', 'strength'],
  options: 'around sides edges',
  read({ numbers, sides, colour, strength }) {
    const amount = numbers[0] ?? sides[0];
    const thickness = amount
      ? lengthOf(amount, { pixels: 1_000, share: 0.5 })
      : { share: byStrength(strength, [0.015, 0.04, 0.08]) };
    return { do: 'border', thickness, colour: colour ?? WHITE };
  },
};

export const ROTATE: Verb = {
  words: 'rotate rotated rotation turn turned tilt spin clockwise counterclockwise upsidedown',
  takes: ['number', 'place', 'place'],
  read({ numbers: [amount], places, has }) {
    const isBack = places.includes('left') || has('counterclockwise');
    const isForth = places.includes('right') || has('clockwise');
    if (isBack && isForth) throw contradiction('it names both directions of turning');
    const other = places.find((place) => place !== 'left' && place !== 'right');
    if (other) throw unknownWord(other);
    if (has('upsidedown') && amount) throw contradiction('it names two angles');
    const usual = has('upsidedown') ? 180 : isBack || isForth ? 90 : undefined;
    if (amount?.unit && amount.unit !== 'degrees') throw contradiction('an angle is given in degrees');
    const angle = amount?.value ?? usual;
    if (angle === undefined) {
      throw contradiction('say how far it shall be rotated, as in "rotate by 90 degrees" or "rotate left"');
    }
    if (Math.abs(angle) > 3_600) throw contradiction('an angle is at most 3600 degrees');
    const degrees = ((((isBack ? -angle : angle) % 360) + 540) % 360) - 180;
    if (degrees === 0) throw contradiction('it would change nothing');
    return { do: 'rotate', degrees };
  },
};

const FLIP: Verb = {
  words: 'flip flipped mirror mirrored reflect',
  takes: [],
  options: 'horizontally horizontal vertically vertical upsidedown',
  read({ has }) {
    const vertical = has('vertically', 'vertical', 'upsidedown');
    const horizontal = has('horizontally', 'horizontal') || !vertical;
    return [
      ...(horizontal ? [{ do: 'flip', axis: 'horizontal' } as const] : []),
      ...(vertical ? [{ do: 'flip', axis: 'vertical' } as const] : []),
    ];
  },
};

export const SHAPES: readonly Verb[] = [CROP, RESIZE, PAD, BORDER, ROTATE, FLIP];
