/** A still picture as a moving shot: fitted to the frame, then looked at by a camera. */
import { canvasFor, perspective, type View, WHOLE } from './camera.ts';
import { even, FRAMES_PER_SECOND, type Size } from './frames.ts';
import type { PictureShot } from './shots.ts';

export interface PictureClip {
  /** Number of the input that holds it. */
  input: number;
  picture: { width?: number; height?: number };
  size: Size;
  /** One for each frame. */
  views: readonly View[];
  label: string;
}

/** What may be cut off a picture to fill the frame; one that would lose more is shown whole, on a blur of itself. */
const MOST_LOST = 0.4;
/** The largest canvas in pixels: a picture of 4k, or one of 720p from three times as far. */
const MOST_CANVAS_PIXELS = 3840 * 2160;
const MATRIX = 'out_color_matrix=bt709:out_range=tv';

/** Chains that read `[<input>:v]` and end in `[label]`: yuv420p of the size, one frame for each view. */
export function pictureClip({ input, picture, size, views, label }: PictureClip): string[] {
  const reach = canvasFor(views);
  const room = Math.min(reach, Math.sqrt(MOST_CANVAS_PIXELS / (size.width * size.height)));
  // As large as it may be; beyond that the picture in it is smaller than the frame.
  const canvas = { width: even(size.width * room), height: even(size.height * room) };
  const inner = { width: even(canvas.width / reach), height: even(canvas.height / reach) };
  const end = `format=yuv420p,setsar=1,loop=loop=-1:size=1,setpts=N/${FRAMES_PER_SECOND}/TB,trim=end_frame=${views.length}`;
  const moves = views.some((view) =>
    Object.keys(WHOLE).some((key) => view[key as keyof View] !== WHOLE[key as keyof View]),
  );
  const camera = moves ? `,${perspective(views, reach)}` : '';
  const last = canvas.width === size.width && canvas.height === size.height ? '' : `,${scaled(size)}`;
  return [...fitted({ input, picture, inner, canvas, label }), `[${label}f]${end}${camera}${last}[${label}]`];
}

interface Fit extends Pick<PictureClip, 'input' | 'picture' | 'label'> {
  /** Where the picture goes, in the middle of the canvas. */
  inner: Size;
  canvas: Size;
}

function fitted({ input, picture, inner, canvas, label }: Fit): string[] {
  const [width, height] = [picture.width ?? inner.width, picture.height ?? inner.height];
  const ratio = inner.width / inner.height;
  const own = width / height;
  const fills = 1 - Math.min(own / ratio, ratio / own) <= MOST_LOST;
  const one = `[${input}:v]trim=end_frame=1,format=rgba`;
  const covering = `crop=w='max(1,min(iw,ih*${ratio}))':h='max(1,min(ih,iw/${ratio}))'`;
  const alone = canvas.width === inner.width && canvas.height === inner.height;
  if (fills && alone) return onWhite(`${one},${covering}`, canvas, { label, end: 'f' });
  const shown = fills
    ? inner
    : {
        width: even(Math.min(inner.width, inner.height * own)),
        height: even(Math.min(inner.height, inner.width / own)),
      };
  // Blurred in small, which is much less work and looks the same.
  const small = { width: even(canvas.width / 8), height: even(canvas.height / 8) };
  const blur = `gblur=sigma=${Math.max(1, small.height / 28)},${scaled(canvas)},eq=brightness=-0.08`;
  return [
    `${one},split[${label}a][${label}c]`,
    ...onWhite(`[${label}a]${covering}`, small, { label, end: 'g' }),
    `[${label}g]${blur}[${label}d]`,
    ...onWhite(`[${label}c]${fills ? covering : 'null'}`, shown, { label, end: 'e' }),
    `[${label}d][${label}e]overlay=x=(W-w)/2:y=(H-h)/2[${label}f]`,
  ];
}

/** What is transparent is seen on white, as on a page. Ends in the label and `end`. */
function onWhite(chain: string, size: Size, { label, end }: { label: string; end: string }): string[] {
  const { width, height } = size;
  const own = `${label}${end}`;
  return [
    `${chain},scale=${width}:${height}:flags=lanczos+accurate_rnd,setsar=1[${own}over]`,
    `color=c=white:s=${width}x${height}:r=24,trim=end_frame=1,format=rgba[${own}under]`,
    `[${own}under][${own}over]overlay=format=rgb,${scaled(size)}[${own}]`,
  ];
}

function scaled({ width, height }: Size): string {
  return `scale=${width}:${height}:flags=lanczos+accurate_rnd:${MATRIX},format=yuv420p`;
}

export type Move = 'in' | 'out' | 'left' | 'right' | 'up' | 'down';

const MOVE_WORDS: readonly [RegExp, Move][] = [
  [/\b(zoom(s|ing)?|pull(s|ing)?|dolly|move|moves|moving) (out|back|away)\b/i, 'out'],
  [/\b(pan(s|ning)?|move|moves|moving|slid(e|es|ing)) (to the )?left\b/i, 'left'],
  [/\b(pan(s|ning)?|move|moves|moving|slid(e|es|ing)) (to the )?right\b/i, 'right'],
  [/\b(tilt(s|ing)?|pan(s|ning)?|ris(e|es|ing)|crane) up\b/i, 'up'],
  [/\b(tilt(s|ing)?|pan(s|ning)?) down\b/i, 'down'],
];

/** The move that a prompt asks for; towards the picture where it asks for none. */
export function moveOf(prompt: string): Move {
  return MOVE_WORDS.find(([words]) => words.test(prompt))?.[1] ?? 'in';
}

/** How much of the picture goes out of sight over a shot. */
const REACH = 0.16;
const DIRECTIONS: Record<Move, readonly [number, number]> = {
  in: [0.25, -0.25],
  out: [0.25, -0.25],
  left: [-1, 0],
  right: [1, 0],
  up: [0, -1],
  down: [0, 1],
};

/**
 * The slow move of documentary films: away from the whole picture at `still`, to both sides of it. Shots that are not the
 * first of their video move elsewhere, or all would look alike.
 */
export function slowMove({ from, to, still }: Omit<PictureShot, 'picture'>, move: Move): View[] {
  const span = Math.max(still - from, to - 1 - still, 1);
  const [across, down] = DIRECTIONS[move];
  return Array.from({ length: to - from }, (_, index) => {
    const away = Math.abs(from + index - still) / span;
    const side = Math.sign(from + index - still);
    const reach = REACH * (move === 'in' || move === 'out' ? 1 : 0.75) * eased(away);
    const room = reach / 2;
    return {
      ...WHOLE,
      extent: 1 - reach,
      centreX: 0.5 + room * across * (side === 0 ? 1 : side),
      centreY: 0.5 + room * down * (side === 0 ? 1 : side),
    };
  });
}

/** Slow at its start, even after it. */
function eased(share: number): number {
  return share * share * (2 - share);
}
