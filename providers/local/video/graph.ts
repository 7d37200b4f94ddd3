/** Shots joined to one picture stream of exactly the ordered length. */
import { FRAMES_PER_SECOND } from './frames.ts';
import type { Shot } from './shots.ts';

/**
 * Chains that join `[<label>0]`, `[<label>1]`, … as their shots overlap and end in `[out]`; where two do not overlap it is
 * a cut.
 */
export function joined(
  shots: readonly Shot[],
  { label, frames }: { label: string; frames: number },
): string[] {
  const rate = `settb=1/${FRAMES_PER_SECOND},fps=${FRAMES_PER_SECOND}`;
  const chains = shots.map((_, index) => `[${label}${index}]${rate}[${label}r${index}]`);
  let whole = `${label}r0`;
  for (const [index, shot] of shots.entries()) {
    const before = shots[index - 1];
    if (before === undefined) continue;
    const overlap = before.to - shot.from;
    const both = `[${whole}][${label}r${index}]`;
    whole = `${label}j${index}`;
    chains.push(
      overlap > 0
        ? `${both}xfade=transition=fade:duration=${seconds(overlap)}:offset=${seconds(shot.from)}[${whole}]`
        : `${both}concat=n=2:v=1:a=0,settb=1/${FRAMES_PER_SECOND}[${whole}]`,
    );
  }
  // Players that are handed an odd frame rate round it; ours is exact.
  const exact = `tpad=stop=-1:stop_mode=clone,trim=end_frame=${frames},setpts=N/${FRAMES_PER_SECOND}/TB`;
  return [...chains, `[${whole}]${exact}[out]`];
}

function seconds(frames: number): string {
  return (frames / FRAMES_PER_SECOND).toFixed(6);
}
