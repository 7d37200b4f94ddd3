/** Clauses that change how the picture looks and not its size. */
import {
  byDegree,
  lengthOf,
  shareOf,
  takeAmount,
  takeColour,
  takeDegree,
  takeDirection,
  takeMarks,
} from './amounts.ts';
import type { Head, Operation } from './lexicon.ts';
import type { SurfaceStep, Tone } from './plan.ts';
import type { Amount, Reading } from './reading.ts';
import { contradiction, notPossible } from './refusal.ts';

type ToneHead = Extract<Head, { op: 'tone' }>;

/** By how much without a number, as a share. */
const USUAL: Readonly<Record<Tone, number>> = {
  brightness: 0.25,
  contrast: 0.3,
  saturation: 0.4,
  warmth: 0.4,
};
const MOST_FACTOR = 4;

export function toneStep(head: ToneHead, reading: Reading): SurfaceStep {
  const { tone } = head;
  const { particle } = reading;
  delete reading.particle;
  const direction = takeDirection(reading) ?? (head.isNoun ? particle : undefined);
  const degree = takeDegree(reading);
  const amount = takeAmount(reading);
  const sign = head.sign * (direction ?? 1);
  const isSaid = direction !== undefined || amount?.signed === true || amount?.preposition === 'to';
  const isMultiple = amount?.unit === 'times' || amount?.isFraction === true;
  if (head.isNoun && !isSaid && !isMultiple) {
    throw contradiction(`say whether the ${tone} shall be more or less, as in "increase the ${tone} by 20%"`);
  }
  if (tone === 'warmth') return { do: 'tone', tone, amount: sign * warmth(amount, degree) };
  const factor =
    amount === undefined ? 1 + sign * Math.min(USUAL[tone] * degree, 0.9) : factorOf(amount, sign);
  if (!(factor >= 0 && factor <= MOST_FACTOR))
    throw contradiction(`the ${tone} can be 0–${MOST_FACTOR * 100}%`);
  if (factor === 1) throw contradiction('it would change nothing');
  return { do: 'tone', tone, amount: factor };
}

/** "By 30%" and "30%" are added or taken off; "to 30%" and "twice" are what it becomes. */
function factorOf({ value, unit, preposition, isFraction }: Amount, sign: number): number {
  if (unit === 'px' || unit === 'degrees') throw contradiction('it is changed by per cent, as in "by 20%"');
  if (unit === undefined && Math.abs(value) < 5 && value !== 0) {
    throw contradiction('it is changed by per cent, as in "by 20%"');
  }
  if (unit === 'times') {
    if (value <= 0) throw contradiction('it cannot be changed by that factor');
    return sign > 0 ? value : 1 / value;
  }
  const share = value / 100;
  if (preposition === 'to' || (isFraction && preposition === undefined)) return share;
  return 1 + sign * share;
}

function warmth(amount: Amount | undefined, degree: number): number {
  if (amount === undefined) return USUAL.warmth * degree;
  if (amount.preposition === 'to')
    throw contradiction('warmth is changed by per cent, as in "warmer by 20%"');
  const isNegative = amount.value < 0;
  return shareOf({ ...amount, value: Math.abs(amount.value) }, 'warmth') * (isNegative ? -1 : 1);
}

/** Pixels of a blur's standard deviation and of a block. */
const BLUR = { pixels: 200, share: 0.2 } as const;
const BLOCK = { pixels: 500, share: 0.5 } as const;

const PLAIN: { [Name in Operation]?: (reading: Reading) => SurfaceStep } = {
  grey: () => ({ do: 'grey' }),
  sepia: () => ({ do: 'sepia' }),
  invert: () => ({ do: 'invert' }),
  normalise: () => ({ do: 'normalise' }),
  tint: (reading) => {
    const amount = takeAmount(reading);
    const usual = byDegree(takeDegree(reading), [0.2, 0.4, 0.7]);
    const colour = takeColour(reading);
    if (!colour) throw contradiction('a tint needs a colour, as in "tint it blue"');
    return { do: 'tint', colour, strength: amount ? shareOf(amount, 'a tint') : usual };
  },
  vignette: (reading) => {
    refuseLess(reading);
    const amount = takeAmount(reading);
    const usual = byDegree(takeDegree(reading), [0.35, 0.6, 0.9]);
    takeMarks(reading, 'edges', 'corners');
    return { do: 'vignette', strength: amount ? shareOf(amount, 'a vignette') : usual };
  },
  blur: (reading) => {
    refuseLess(reading);
    const amount = takeAmount(reading);
    const share = byDegree(takeDegree(reading), [0.004, 0.01, 0.03]);
    takeMarks(reading, 'radius');
    if (amount === undefined) return { do: 'blur', size: { share } };
    // 100% is as strong as it gets.
    if (amount.unit === '%') return { do: 'blur', size: { share: shareOf(amount, 'a blur') * 0.05 } };
    return { do: 'blur', size: lengthOf(amount, BLUR) };
  },
  sharpen: (reading) => {
    refuseLess(reading);
    const amount = takeAmount(reading);
    const usual = byDegree(takeDegree(reading), [0.5, 1, 2]);
    return { do: 'sharpen', amount: amount ? shareOf(amount, 'sharpening') * 2 : usual };
  },
  pixelate: (reading) => {
    refuseLess(reading);
    const amount = takeAmount(reading);
    const share = byDegree(takeDegree(reading), [0.01, 0.025, 0.06]);
    takeMarks(reading, 'block', 'blocks');
    return { do: 'pixelate', size: amount ? lengthOf(amount, BLOCK) : { share } };
  },
  opacity: (reading) => ({ do: 'opacity', opacity: takeOpacity(reading, 'opacity') }),
  transparency: (reading) => ({ do: 'opacity', opacity: takeOpacity(reading, 'transparency') }),
  round: (reading) => {
    const amount = takeAmount(reading);
    const usual = byDegree(takeDegree(reading), [0.05, 0.1, 0.2]);
    const ofCorners = takeMarks(reading, 'corners', 'corner', 'edges', 'radius');
    if (!ofCorners && !amount) return { do: 'round', radius: { share: 0.5 } };
    return {
      do: 'round',
      radius: amount ? lengthOf(amount, { pixels: 4_000, share: 0.5 }) : { share: usual },
    };
  },
};

export function plainStep(operation: Operation, reading: Reading): SurfaceStep | undefined {
  return PLAIN[operation]?.(reading);
}

function refuseLess(reading: Reading): void {
  if (takeDirection(reading) === -1)
    throw notPossible('what is blurred, sharp or coarse already cannot be undone');
}

/** What the picture, or a layer, keeps: "30% opacity", "70% transparent", "reduce the opacity by 70%". */
export function takeOpacity(reading: Reading, kind: 'opacity' | 'transparency'): number {
  const direction = takeDirection(reading);
  const degree = takeDegree(reading);
  const at = reading.amounts.findIndex(({ noun }) => noun !== undefined && /^(?:opa|trans)/.test(noun));
  const [amount] = reading.amounts.splice(Math.max(at, 0), 1);
  if (amount === undefined) {
    if (kind === 'opacity' && direction !== -1) {
      throw contradiction('opacity needs a number, as in "50% opacity"');
    }
    return byDegree(degree, [0.75, 0.5, 0.25]);
  }
  const share = shareOf(amount, kind);
  const isTaken = direction === -1 && amount.preposition !== 'to';
  const opacity = (kind === 'transparency') === isTaken ? share : 1 - share;
  if (opacity < 0.01) throw contradiction('nothing would be seen of it');
  return opacity;
}
