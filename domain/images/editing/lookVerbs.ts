/** Verbs that change the look of the picture and not its size. */
import { byStrength, lengthOf, opacityOf, shareOf } from './amounts.ts';
import type { Clause, Verb } from './clause.ts';
import { CIRCLE, type EditStep, type Tone } from './plan.ts';
import { contradiction } from './refusal.ts';
import type { Amount } from './tokens.ts';

export const LOOKS: readonly Verb[] = [
  { words: 'greyscale grayscale monochrome noir grey gray', takes: [], read: () => ({ do: 'grey' }) },
  { words: 'sepia', takes: [], read: () => ({ do: 'sepia' }) },
  { words: 'invert inverted negative', takes: [], read: () => ({ do: 'invert' }) },
  {
    words: 'tint tinted colourise colorize',
    takes: ['colour', 'number', 'strength'],
    read({ colour, numbers: [amount], strength }) {
      if (!colour) throw contradiction('a tint needs a colour, as in "tint it blue"');
      const share = amount ? shareOf(amount, 'a tint') : byStrength(strength, [0.2, 0.4, 0.7]);
      return { do: 'tint', colour, strength: share };
    },
  },
  {
    words: 'blur blurred blurry soften softer',
    takes: ['number', 'strength'],
    options: 'gaussian radius',
    read({ numbers: [amount], strength }) {
      if (!amount) return { do: 'blur', size: { share: byStrength(strength, [0.004, 0.01, 0.03]) } };
      // 100% is the strongest.
      if (amount.unit === '%') return { do: 'blur', size: { share: shareOf(amount, 'a blur') * 0.05 } };
      return { do: 'blur', size: lengthOf(amount, { pixels: 200, share: 0.2 }) };
    },
  },
  {
    words: 'sharpen sharpened sharper sharp crisp crisper',
    takes: ['number', 'strength'],
    read({ numbers: [amount], strength }) {
      return {
        do: 'sharpen',
        amount: amount ? shareOf(amount, 'sharpening') * 2 : byStrength(strength, [0.5, 1, 2]),
      };
    },
  },
  {
    words: 'pixelate pixelated mosaic',
    takes: ['number', 'strength'],
    options: 'block blocks',
    read({ numbers: [amount], strength }) {
      const share = byStrength(strength, [0.01, 0.025, 0.06]);
      return { do: 'pixelate', size: amount ? lengthOf(amount, { pixels: 500, share: 0.5 }) : { share } };
    },
  },
  {
    words: 'vignette',
    takes: ['number', 'strength'],
    read({ numbers: [amount], strength }) {
      return {
        do: 'vignette',
        strength: amount ? shareOf(amount, 'a vignette') : byStrength(strength, [0.35, 0.6, 0.9]),
      };
    },
  },
  {
    words: 'round rounded circle circular',
    takes: ['number', 'strength'],
    options: 'corners corner radius',
    read({ numbers: [amount], strength, has }) {
      if (amount) return { do: 'round', radius: lengthOf(amount, { pixels: 4_000, share: 0.5 }) };
      return has('corners', 'corner')
        ? { do: 'round', radius: { share: byStrength(strength, [0.05, 0.1, 0.2]) } }
        : CIRCLE;
    },
  },
  { words: 'opacity opaque', takes: ['number'], read: ({ numbers: [amount] }) => fadeTo(opacityOf(amount)) },
  {
    words: 'transparent transparency translucent',
    takes: ['number'],
    read: ({ numbers: [amount] }) => fadeTo(amount ? 1 - shareOf(amount, 'transparency') : 0.5),
  },
  ...toneVerbs('brightness', {
    more: 'brighten brighter bright lighten lighter',
    less: 'darken darker dark dim dimmer',
    noun: 'brightness exposure',
  }),
  ...toneVerbs('contrast', { more: 'contrasty punchy', less: 'flat flatter', noun: 'contrast' }),
  ...toneVerbs('saturation', {
    more: 'saturate saturated vivid vibrant colourful colorful',
    less: 'desaturate desaturated muted dull duller faded',
    noun: 'saturation vibrance',
  }),
  ...toneVerbs('warmth', {
    more: 'warm warmer',
    less: 'cool cooler cold colder',
    noun: 'warmth temperature',
  }),
];

function fadeTo(opacity: number): EditStep {
  if (opacity === 1) throw contradiction('it would change nothing');
  if (opacity < 0.01) throw contradiction('nothing would be seen of it');
  return { do: 'opacity', opacity };
}

/** Verbs of a tone: words for more and for less of it, and its noun, which needs a direction or a value. */
function toneVerbs(tone: Tone, { more, less, noun }: { more: string; less: string; noun: string }): Verb[] {
  const takes = ['number', 'strength', 'direction'] as const;
  return [
    { words: more, takes, read: (clause) => toneStep(tone, clause, clause.direction ?? 1) },
    { words: less, takes, read: (clause) => toneStep(tone, clause, -(clause.direction ?? 1)) },
    {
      words: noun,
      takes,
      read(clause) {
        const [amount] = clause.numbers;
        if (clause.direction === undefined && !amount?.signed && !amount?.isTo) {
          throw contradiction(`say whether the ${tone} shall be more or less, as in "increase the ${tone} by 20%"`);
        }
        return toneStep(tone, clause, clause.direction ?? 1);
      },
    },
  ];
}

/** Changes without a number, as shares. */
const DEFAULT_SHARES: Readonly<Record<Tone, number>> = {
  brightness: 0.25,
  contrast: 0.3,
  saturation: 0.4,
  warmth: 0.4,
};
const MAX_FACTOR = 4;

function toneStep(tone: Tone, { numbers: [amount], strength = 1 }: Clause, sign: number): EditStep {
  const usual = DEFAULT_SHARES[tone] * strength;
  if (tone === 'warmth') {
    if (amount?.isTo) throw contradiction('warmth is changed by per cent, as in "warmer by 20%"');
    const share = amount
      ? shareOf({ ...amount, value: Math.abs(amount.value) }, 'warmth') * Math.sign(amount.value)
      : usual;
    return { do: 'tone', tone, amount: sign * share };
  }
  const factor = amount === undefined ? 1 + sign * usual : factorOf(amount, sign);
  if (!(factor >= 0 && factor <= MAX_FACTOR)) throw contradiction(`the ${tone} can be 0–${MAX_FACTOR * 100}%`);
  if (factor === 1) throw contradiction('it would change nothing');
  return { do: 'tone', tone, amount: factor };
}

/** "By 30%" and "30%" change the value by 30%; "to 30%" sets it. */
function factorOf({ value, unit, isTo }: Amount, sign: number): number {
  if (unit !== '%' && !(unit === undefined && (value === 0 || Math.abs(value) >= 5))) {
    throw contradiction('it is changed by per cent, as in "by 20%"');
  }
  return isTo ? value / 100 : 1 + (sign * value) / 100;
}
