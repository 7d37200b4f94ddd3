/** The words that prompts are understood by. A word that is in none of these tables makes the prompt a refusal. */
import type { Colour, Tone } from './plan.ts';

/** Say nothing about what shall be done. */
export const FILLERS: ReadonlySet<string> = new Set(
  (
    'a an the of this that these it its my me i so is are be as at on in with by to into from for please kindly could ' +
    'can would you want wish need like just now also simply overall entire whole all completely everything ' +
    "make made convert change changed do set give get apply use using take let let's lets have " +
    'look looks looking bring go create produce render effect filter tone tones style version image ' +
    'images picture pictures photo photos photograph pic some colour color colours colors coloured colored gaussian thanks ' +
    "i'd it's exactly about around approximately again back"
  ).split(' '),
);

/** `noun`: only with a direction ("more contrast") or a value ("contrast to 120%"). */
export type Head =
  | { op: 'tone'; tone: Tone; sign: 1 | -1; isNoun?: boolean }
  | { op: Operation; sign?: 1 | -1; soft?: boolean };
const OPERATIONS = [
  'grey',
  'sepia',
  'invert',
  'tint',
  'normalise',
  'blur',
  'sharpen',
  'pixelate',
  'vignette',
  'opacity',
  'transparency',
  'round',
  'border',
  'rotate',
  'flip',
  'crop',
  'pad',
  'resize',
  'text',
  'overlay',
  'cutout',
] as const;
export type Operation = (typeof OPERATIONS)[number];

const TONES: Readonly<Record<string, [Tone, 1 | -1]>> = {
  'brighten brighter bright lighten lighter brightening': ['brightness', 1],
  'darken darker dark dim dimmer darkening': ['brightness', -1],
  'warm warmer warmly warming': ['warmth', 1],
  'cool cooler cold colder cooling': ['warmth', -1],
  'saturate saturated vivid vibrant colourful colorful vivider livelier': ['saturation', 1],
  'desaturate desaturated muted mute dull duller faded fade': ['saturation', -1],
  'contrasty punchy punchier': ['contrast', 1],
  'flatter flat': ['contrast', -1],
};
const TONE_NOUNS: Readonly<Record<string, Tone>> = {
  'brightness exposure luminosity': 'brightness',
  'warmth temperature': 'warmth',
  'saturation vibrance': 'saturation',
  contrast: 'contrast',
};
const DEEDS: Readonly<Record<string, Operation>> = {
  'greyscale grayscale monochrome bw noir colourless colorless': 'grey',
  sepia: 'sepia',
  'invert inverted negative inverse': 'invert',
  'tint tinted colourise colorize': 'tint',
  'normalise normalize normalised normalized': 'normalise',
  'blur blurred blurry blurrier defocus': 'blur',
  'sharpen sharper sharp sharpened crisp crisper sharpness': 'sharpen',
  'pixelate pixelated pixellate pixelation mosaic': 'pixelate',
  'vignette vignetting': 'vignette',
  'opacity opaque': 'opacity',
  'transparent transparency translucent semitransparent': 'transparency',
  'round rounded circle circular': 'round',
  'border bordered frame framed': 'border',
  'rotate rotated rotation tilt tilted straighten spin': 'rotate',
  'flip flipped mirror mirrored reflect': 'flip',
  'crop cropped cropping trim': 'crop',
  'pad padded padding letterbox letterboxed': 'pad',
  'resize resized scale scaled rescale size sized enlarge enlarged upscale upscaled magnify bigger larger grow shrink ':
    'resize',
  'downscale downscaled smaller thumbnail': 'resize',
  'write text caption title label words word says say saying reads reading letters inscribe': 'text',
  'overlay blend blended paste superimpose composite mix lay': 'overlay',
  cutout: 'cutout',
};

function spread<Value, Out>(
  table: Readonly<Record<string, Value>>,
  make: (value: Value) => Out,
): [string, Out][] {
  return Object.entries(table).flatMap(([words, value]) =>
    words
      .trim()
      .split(' ')
      .map((word): [string, Out] => [word, make(value)]),
  );
}

export const HEADS: ReadonlyMap<string, Head> = new Map<string, Head>([
  ...spread(TONES, ([tone, sign]): Head => ({ op: 'tone', tone, sign })),
  ...spread(TONE_NOUNS, (tone): Head => ({ op: 'tone', tone, sign: 1, isNoun: true })),
  ...spread(DEEDS, (op): Head => ({ op })),
  ['soften', { op: 'blur', soft: true }],
  ['softer', { op: 'blur', soft: true }],
]);

export const DIRECTIONS: ReadonlyMap<string, 1 | -1> = new Map(
  spread(
    {
      'more increase increased raise boost higher high enhance': 1,
      'less reduce reduced decrease decreased lower low': -1,
    } as const,
    (sign): 1 | -1 => sign,
  ),
);

/** "Brightness up" is more of it; "cool down" and "warm up" say nothing new. */
export const PARTICLES: ReadonlyMap<string, 1 | -1> = new Map([
  ['up', 1],
  ['add', 1],
  ['down', -1],
]);

/** How much of the usual amount. */
export const DEGREES: ReadonlyMap<string, number> = new Map(
  spread(
    {
      'slightly somewhat little bit subtle subtly gently lightly gentle soft softly faint thin small smaller tiny narrow': 0.5,
      'moderately moderate medium normal': 1,
      'much strongly strong very heavily heavy significantly really extremely dramatically dramatic far lot deeply intense thick large big huge wide': 2,
    },
    (factor) => factor,
  ),
);

export const POSITIONS: ReadonlyMap<string, string> = new Map(
  spread(
    {
      'top upper': 'top',
      'bottom lower': 'bottom',
      left: 'left',
      right: 'right',
      'center centre middle centered centred': 'centre',
    },
    (side) => side,
  ),
);

const NAMED_COLOURS: Readonly<Record<string, number>> = {
  white: 0xffffff,
  black: 0x000000,
  red: 0xe02020,
  green: 0x1e9e3a,
  blue: 0x1f5fe0,
  yellow: 0xffd91a,
  orange: 0xff8c1a,
  purple: 0x8030c0,
  violet: 0x8a3ff0,
  pink: 0xff6fb0,
  magenta: 0xe020c0,
  cyan: 0x20d0e8,
  turquoise: 0x30d5c8,
  teal: 0x108080,
  brown: 0x8a5530,
  beige: 0xf0e4cc,
  cream: 0xfff8e0,
  gold: 0xe0b030,
  golden: 0xe0b030,
  silver: 0xc0c4c8,
  grey: 0x808080,
  gray: 0x808080,
  navy: 0x102060,
  maroon: 0x701020,
  olive: 0x707020,
  lime: 0x9be020,
};

/** How far to white (positive) or black. */
export const SHADES: ReadonlyMap<string, number> = new Map([
  ['light', 0.5],
  ['pale', 0.65],
  ['bright', 0.15],
  ['dark', -0.45],
  ['deep', -0.3],
]);

export function namedColour(name: string, shade = 0): Colour | undefined {
  const value = Object.hasOwn(NAMED_COLOURS, name) ? NAMED_COLOURS[name] : undefined;
  if (value === undefined) return undefined;
  const shaded = (part: number) => Math.round(shade >= 0 ? part + (255 - part) * shade : part * (1 + shade));
  return { red: shaded(value >> 16), green: shaded((value >> 8) & 255), blue: shaded(value & 255) };
}

/** Several words that mean one; the longest first. */
export const PHRASES: readonly (readonly [string, string])[] = [
  ['black and white', 'greyscale'],
  ['b and w', 'greyscale'],
  ['counter clockwise', 'counterclockwise'],
  ['anti clockwise', 'counterclockwise'],
  ['semi transparent', 'semitransparent'],
  ['see through', 'semitransparent'],
  ['half transparent', 'semitransparent'],
  ['upside down', 'upsidedown'],
  ['auto contrast', 'normalise'],
  ['auto levels', 'normalise'],
  ['auto level', 'normalise'],
  ['inverted mask', 'invertedmask'],
  ['inverse mask', 'invertedmask'],
  ['dark vignette', 'vignette'],
  ['after that', 'then'],
  ['aspect ratio', 'ratio'],
  ['top to bottom', 'vertically'],
  ['left to right', 'horizontally'],
  ['right to left', 'horizontally'],
  ['side by side', 'beside'],
  ['to the left of', 'beside'],
  ['to the right of', 'beside'],
  ['on top of', 'over'],
  ['in front of', 'over'],
  ['as well', 'also'],
  ['cut out', 'cutout'],
  ['scale down', 'shrink'],
  ['size down', 'shrink'],
  ['scale up', 'enlarge'],
  ['blow up', 'enlarge'],
  ['long side', 'longside'],
  ['longest side', 'longside'],
  ['longer side', 'longside'],
  ['long edge', 'longside'],
  ['each side', 'edges'],
  ['every side', 'edges'],
  ['all sides', 'edges'],
  ['each edge', 'edges'],
  ['all edges', 'edges'],
  ['a third', 'onethird'],
  ['one third', 'onethird'],
  ['a tad', 'slightly'],
  ['a touch', 'slightly'],
];

export const FRACTIONS: ReadonlyMap<string, number> = new Map([
  ['half', 1 / 2],
  ['halve', 1 / 2],
  ['onethird', 1 / 3],
  ['quarter', 1 / 4],
]);

export const MULTIPLES: ReadonlyMap<string, number> = new Map([
  ['double', 2],
  ['twice', 2],
  ['triple', 3],
  ['thrice', 3],
  ['quadruple', 4],
]);

export const ORDINALS: ReadonlyMap<string, number> = new Map(
  spread(
    {
      'first 1st base original main': 1,
      'second 2nd': 2,
      'third 3rd': 3,
      'fourth 4th': 4,
    },
    (number) => number,
  ),
);
/** Name the only further image. */
export const OTHERS: ReadonlySet<string> = new Set([
  'other',
  'logo',
  'watermark',
  'layer',
  'sticker',
  'stamp',
  'signature',
]);
export const IMAGE_NOUNS: ReadonlySet<string> = new Set([
  'image',
  'picture',
  'photo',
  'layer',
  'pic',
  'photograph',
  'one',
  'file',
]);

/** Words with a meaning of their own to single operations. */
export const MARKS: ReadonlySet<string> = new Set(
  (
    'mask masked invertedmask where over onto horizontally horizontal horizontal vertically vertical upsidedown clockwise counterclockwise ' +
    'corner corners edges edge sides side ratio square widescreen width wide height tall high longside stretch stretched ' +
    'stretching fit fits fill fills cover covering within inside outside multiply screen background bars bar radius font ' +
    'turn turned area part factor off thumbnail blocks block put place insert'
  ).split(' '),
);
