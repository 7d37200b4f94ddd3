/**
 * Steps of an image edit, translated from a prompt, in their order. A plan is plain data; engines/images executes it.
 */

export interface Colour {
  /** 0–255. */
  red: number;
  green: number;
  blue: number;
}

/** Position in the picture: 0 is left or top, 1 is right or bottom. */
export interface Anchor {
  x: 0 | 0.5 | 1;
  y: 0 | 0.5 | 1;
}

/** Pixels, or a share of the picture's shorter side. */
export type Length = { pixels: number } | { share: number };

export type Tone = 'brightness' | 'contrast' | 'saturation' | 'warmth';

/** Steps that change the size or the geometry of the picture. */
export type GeometryStep =
  /** The largest piece of this ratio (width : height). */
  | { do: 'crop'; ratio: number; anchor: Anchor }
  | { do: 'cropTo'; width: number; height: number; anchor: Anchor }
  /** Shares of width and height. */
  | { do: 'cropShare'; width: number; height: number; anchor: Anchor }
  /** With one side, the other follows. With both, the picture is cut to their ratio. */
  | { do: 'resize'; width?: number; height?: number }
  | { do: 'scale'; factor: number }
  /** Sets the longer side in pixels. */
  | { do: 'longSide'; pixels: number }
  /** Adds bars to reach a ratio. */
  | { do: 'pad'; ratio: number; colour: Colour }
  /** Clockwise. The new corners are transparent, unless it is a quarter turn. */
  | { do: 'rotate'; degrees: number }
  | { do: 'flip'; axis: 'horizontal' | 'vertical' }
  | { do: 'border'; thickness: Length; colour: Colour };

/** Steps that keep the size; a mask can say where they act. */
export type SurfaceStep =
  /** Factor; for warmth an amount from -1 (cool) to 1. */
  | { do: 'tone'; tone: Tone; amount: number }
  | { do: 'grey' }
  | { do: 'sepia' }
  | { do: 'invert' }
  | { do: 'tint'; colour: Colour; strength: number }
  /** `size` is the standard deviation. */
  | { do: 'blur'; size: Length }
  | { do: 'sharpen'; amount: number }
  /** The side of a block. */
  | { do: 'pixelate'; size: Length }
  | { do: 'vignette'; strength: number }
  /** 0–1, for the whole picture. */
  | { do: 'opacity'; opacity: number }
  /** Exact corners, transparent outside. A share of 0.5 is a circle, or the longest pill that fits. */
  | { do: 'round'; radius: Length }
  /** Plain text, never markup. `size` is the height of its letters; undefined: it fits the picture. */
  | { do: 'text'; text: string; anchor: Anchor; colour: Colour; size?: Length }
  | OverlayStep;

export interface OverlayStep {
  do: 'overlay';
  /** 2 is the second image of the request. */
  image: number;
  anchor: Anchor;
  /** Pixels, or a share of the picture's width; undefined: its own width, at most the picture's. */
  width?: Length;
  opacity: number;
}

/**
 * `steps` act where the mask is white, half where it is grey. Without steps, white is kept and the rest becomes
 * transparent.
 */
export interface MaskStep {
  do: 'mask';
  image: number;
  inverted: boolean;
  steps: SurfaceStep[];
}

export type EditStep = GeometryStep | SurfaceStep | MaskStep;

export type EditPlan = readonly EditStep[];

export const CENTRE: Anchor = { x: 0.5, y: 0.5 };
export const CIRCLE: SurfaceStep = { do: 'round', radius: { share: 0.5 } };

/** Most steps of one prompt. */
export const MAX_STEPS = 24;
export const MAX_TEXT_CHARACTERS = 300;

const GEOMETRY: ReadonlySet<EditStep['do']> = new Set<GeometryStep['do']>([
  'crop',
  'cropTo',
  'cropShare',
  'resize',
  'scale',
  'longSide',
  'pad',
  'rotate',
  'flip',
  'border',
]);

export function isSurface(step: EditStep): step is SurfaceStep {
  return !GEOMETRY.has(step.do) && step.do !== 'mask';
}
