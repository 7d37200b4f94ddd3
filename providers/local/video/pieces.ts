/**
 * A video in pieces, each made in a run of its own, so that the memory of a run does not grow with the number of shots. The
 * end of a shot that fades into the next one, its tail, is kept aside and mixed into the piece of that.
 */
import { FRAMES_PER_SECOND } from './frames.ts';
import type { Shot } from './shots.ts';

/** Lengths in frames; where a shot does not overlap the next one there is no tail, and it is a cut. */
export interface Piece {
  /** Of the shot before, mixed into the start of this one. */
  head: number;
  /** What goes into the video: its shot without its tail. */
  body: number;
  tail: number;
}

/** Shots overlap only their neighbours, so that every piece has a body. */
export function piecesOf(shots: readonly Shot[]): Piece[] {
  const tails = shots.map(({ to }, index) => Math.max(0, to - (shots[index + 1]?.from ?? to)));
  return shots.map(({ from, to }, index) => {
    const tail = tails[index] ?? 0;
    return { head: tails[index - 1] ?? 0, body: to - from - tail, tail };
  });
}

/** By the number of the picture alone: a filter that goes by time (`fps`) would leave out the last one. */
const CLOCK = `settb=1/${FRAMES_PER_SECOND},setpts=N`;

/** Chains from `[shot]`, and from `[<before>:v:0]` where there is a head, to `[out]` and, where there is one, `[tail]`. */
export function pieceChains({ head, body, tail }: Piece, before: number): string[] {
  const length = (head / FRAMES_PER_SECOND).toFixed(6);
  const whole =
    head === 0
      ? [`[shot]${CLOCK}[whole]`]
      : [
          `[shot]${CLOCK}[after]`,
          `[${before}:v:0]${CLOCK},format=yuv420p[before]`,
          `[before][after]xfade=transition=fade:duration=${length}:offset=0[whole]`,
        ];
  if (tail === 0) return [...whole, `[whole]trim=end_frame=${body},${CLOCK}[out]`];
  return [
    ...whole,
    '[whole]split[first][last]',
    `[first]trim=end_frame=${body},${CLOCK}[out]`,
    `[last]trim=start_frame=${body}:end_frame=${body + tail},${CLOCK}[tail]`,
  ];
}
