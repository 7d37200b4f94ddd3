/** Runs in the image child only: colour changes as a matrix or factors for red, green and blue, with offsets. */
import type { Colour, SurfaceStep, Tone } from '../../domain/images/editing/plan.ts';

type Row = [number, number, number];

export interface ColourChange {
  /** Undefined when each colour depends only on itself. */
  matrix?: [Row, Row, Row];
  factors: Row;
  added: Row;
}

/** Luminance weights for sRGB (ITU-R BT.709). */
const LUMA: Row = [0.2126, 0.7152, 0.0722];
const NONE: Row = [0, 0, 0];
const ONE: Row = [1, 1, 1];
const MIDDLE = 128;
/** Changes of red, green and blue at full warmth. */
const WARMTH: Row = [0.3, 0.06, -0.3];

export function colourChange(step: SurfaceStep): ColourChange | undefined {
  switch (step.do) {
    case 'tone':
      return TONES[step.tone](step.amount);
    case 'grey':
      return mixed([LUMA, LUMA, LUMA]);
    case 'sepia':
      return mixed([
        [0.393, 0.769, 0.189],
        [0.349, 0.686, 0.168],
        [0.272, 0.534, 0.131],
      ]);
    case 'invert':
      return { factors: [-1, -1, -1], added: [255, 255, 255] };
    case 'tint':
      return tinted(step.colour, step.strength);
    default:
      return undefined;
  }
}

const TONES: Record<Tone, (amount: number) => ColourChange> = {
  brightness: (factor) => ({ factors: [factor, factor, factor], added: NONE }),
  contrast: (factor) => {
    const added = MIDDLE * (1 - factor);
    return { factors: [factor, factor, factor], added: [added, added, added] };
  },
  saturation: (factor) => mixed(identity().map((row) => blend(LUMA, row, factor)) as [Row, Row, Row]),
  warmth: (amount) => ({ factors: WARMTH.map((share) => 1 + share * amount) as Row, added: NONE }),
};

function identity(): [Row, Row, Row] {
  return [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ];
}

function mixed(matrix: [Row, Row, Row]): ColourChange {
  return { matrix, factors: ONE, added: NONE };
}

/** Interpolates between two rows. A share above 1 extrapolates. */
function blend(from: Row, to: Row, share: number): Row {
  return from.map((value, index) => value + ((to[index] ?? 0) - value) * share) as Row;
}

/** Mixes the image with its luminance in the given colour. */
function tinted({ red, green, blue }: Colour, strength: number): ColourChange {
  const light = Math.max(LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue, 48);
  const rows = [red, green, blue].map((part, index) => {
    const own = identity()[index] ?? ONE;
    const inColour = LUMA.map((share) => (share * part) / light) as Row;
    return blend(own, inColour, strength);
  });
  return mixed(rows as [Row, Row, Row]);
}
