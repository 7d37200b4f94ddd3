/**
 * Pictures that backdrops are made of, each painted once by an expression over its pixels and then moved as a whole: the
 * painting is done on one frame only. It is most of the work of a scene all the same, so what is told by a glance (`if`
 * evaluates only the branch that it takes) is not computed.
 */
import type { Size } from './frames.ts';
import type { Colour } from './theme.ts';

/** Painting costs by the pixel; nothing that is moved or blurred needs more. */
export const MOST_PAINTED_SIDE = 1280;

/** In which size the layers of a frame are painted: its own, or a smaller one of its shape. */
export function paintSize(frame: Size): Size {
  const share = Math.min(1, MOST_PAINTED_SIDE / Math.max(frame.width, frame.height));
  return { width: Math.round(frame.width * share), height: Math.round(frame.height * share) };
}

export function hex([red, green, blue]: Colour): string {
  return `0x${[red, green, blue].map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

/** One colour, as opaque as the expression says (0 to 1, over X, Y, W and H). */
export function painted(size: Size, colour: Colour, alpha: string): string {
  const [r, g, b] = colour;
  return [
    ...[`color=c=${hex(colour)}:s=${size.width}x${size.height}:r=24`, 'trim=end_frame=1', 'format=rgba'],
    `geq=r=${r}:g=${g}:b=${b}:a='255*clip(${alpha},0,1)'`,
  ].join(',');
}

/** The expression for a layer that holds only what is below `top` (a share of the height) of a picture so high. */
export function below(alpha: string, top: number, height: number): string {
  const cut = Math.round(top * height);
  return alpha.replaceAll(/\bH\b/g, String(height)).replaceAll(/\bY\b/g, `(Y+${cut})`);
}

/** From one colour at the top to another at `low` (a share of the height); a fixed pattern hides the bands of 8 bits. */
export function sky(size: Size, { top, low, at }: { top: Colour; low: Colour; at: number }): string {
  const mix = (index: 0 | 1 | 2) =>
    `'${top[index]}+${low[index] - top[index]}*pow(clip(Y/(H*${at}),0,1),1.3)+mod(X*3+Y*5,8)/8-0.2'`;
  return [
    ...[`color=c=black:s=${size.width}x${size.height}:r=24`, 'trim=end_frame=1', 'format=gbrp'],
    `geq=r=${mix(0)}:g=${mix(1)}:b=${mix(2)}`,
  ].join(',');
}

/** Everything below a rolling line; `base` and `swing` are shares of the height. */
export function ridge({ base, swing, phase }: { base: number; swing: number; phase: number }): string {
  const wave = [
    `sin(X/H*2.3+${phase})`,
    `0.5*sin(X/H*5.1+${phase * 2})`,
    `0.22*sin(X/H*13.7+${phase * 3})`,
    `0.1*sin(X/H*31+${phase})`,
  ].join('+');
  return `(Y-H*(${base}+${swing}*(${wave})))/1.6+0.5`;
}

/** A ridge with firs on it. */
export function firs({ base, swing, phase }: { base: number; swing: number; phase: number }): string {
  const cell = 'H*0.055';
  const fir = [
    chance('0', `floor(X/(${cell}))+${phase * 10}`),
    // How far from the trunk, 0 to 1, and the jagged outline of its branches.
    `st(1,abs(mod(X,${cell})/(${cell})-0.5)*2)`,
    `st(2,H*(${base}+${swing}*sin(X/H*1.9+${phase}))-H*(0.09+0.13*ld(0))*(1-ld(1)))`,
    `st(3,mod(Y-ld(2),H*0.022)/(H*0.022)*H*0.012)`,
    '(Y-ld(2)-H*0.012+ld(3))/1.6+0.5',
  ].join(';');
  return `if(gt(Y,H*${base + swing + 0.02}),1,${fir})`;
}

/** Houses of random heights; `fill` true gives their lit windows instead. */
export function houses({ base, phase, width, lit }: Houses): string {
  const cell = `(H*${width})`;
  const roof = [
    chance('0', `floor(X/${cell})+${phase * 17}`),
    `st(1,H*(${base}-0.34*ld(0)*ld(0)-0.04*ld(0)))`,
  ];
  if (!lit) return `if(gt(Y,H*${base + 0.01}),1,${[...roof, '(Y-ld(1))/1.4+0.5'].join(';')})`;
  const [across, down] = [`(${cell}/5)`, '(H*0.03)'];
  const light = [
    chance('2', `floor(X/${across})*7+floor(Y/${down})*3.7+${phase}`),
    'gt(ld(2),0.62)*(0.35+0.6*ld(2))',
  ].join(';');
  const pane = [...roof, `if(gt(Y,ld(1)+H*0.02),${light})`].join(';');
  return `if(gt(mod(X,${across}),${across}*0.3),if(gt(mod(Y,${down}),${down}*0.45),${pane}))`;
}

interface Houses {
  base: number;
  phase: number;
  /** Of one house, a share of the height. */
  width: number;
  lit: boolean;
}

/** Water below a crest of waves that repeats with the width. */
export function waves({ base, swing, phase }: { base: number; swing: number; phase: number }): string {
  const round = 'X/W*2*PI';
  const crest = `sin(${round}*5+${phase})+0.5*sin(${round}*8+${phase * 2})+0.15*sin(${round}*13)`;
  return `(Y-H*(${base}+${swing}*(${crest})))/1.6+0.5`;
}

/** A disc with a glow around it, as large as its layer. */
export const DISC = `st(0,hypot(X-W/2,Y-H/2)/W);clip((0.2-ld(0))*W/2,0,1)+0.5*exp(-ld(0)*9)*clip((0.5-ld(0))*6,0,1)`;

/** Round dots, one in each cell where chance wants it, so that the layer joins itself at its edges. */
export function dots({ cell, radius, share, soft, alpha, seed }: Dots): string {
  const dot = [
    chance('1', `floor(X/${cell})*5.31+floor(Y/${cell})*2.93+${seed}`),
    `st(2,${radius}*(0.4+0.6*ld(1)))`,
    `st(3,hypot(mod(X,${cell})-ld(2)-(${cell}-2*ld(2))*ld(0),mod(Y,${cell})-ld(2)-(${cell}-2*ld(2))*ld(1)))`,
    `${alpha}*(0.3+0.7*ld(1))*clip((ld(2)-ld(3))/(ld(2)*${soft}),0,1)`,
  ].join(';');
  const wanted = chance('0', `floor(X/${cell})*1.37+floor(Y/${cell})*7.77+${seed}`);
  return `${wanted};if(lt(mod(ld(0)*91,1),${share}),${dot})`;
}

interface Dots {
  /** Pixels, a divisor of the layer's sides. */
  cell: number;
  radius: number;
  /** How many of the cells have one. */
  share: number;
  /** Above 0, a hard edge, to 1. */
  soft: number;
  /** Of the brightest. */
  alpha: number;
  seed: number;
}

/** Streaks of rain. */
export function streaks(seed: number): string {
  const streak = [
    'st(1,mod(ld(4),80)/80)',
    'st(2,abs(mod(X,8)-1.5-5*ld(0)))',
    '0.55*clip(1.2-ld(2),0,1)*ld(1)*gt(ld(1),0.25)',
  ].join(';');
  return [
    // Each column begins elsewhere, or the streaks would stand in rows.
    chance('3', `floor(X/8)*9.7+${seed}`),
    'st(4,mod(Y+ld(3)*1600,H))',
    chance('0', `floor(X/8)*3.1+floor(ld(4)/80)*7.7+${seed}`),
    `if(lt(mod(ld(0)*57,1),0.3),${streak})`,
  ].join(';');
}

/** Into a variable: a number from 0 to 1 that is the same for the same `key`. */
function chance(variable: string, key: string): string {
  return `st(${variable},sin((${key})*12.9898)*43758.5453);st(${variable},ld(${variable})-floor(ld(${variable})))`;
}
