/** Parses the output of ffmpeg's `-progress pipe:1`: repeated lines of `name=value`. */

export interface Progress {
  /** Pictures in the first output video stream so far. 0 without one. */
  frames: number;
  /** Pictures dropped to keep the output's frame rate. Not included in `frames`. */
  droppedFrames: number;
}

const FIELDS: Record<string, keyof Progress> = { frame: 'frames', drop_frames: 'droppedFrames' };
const LINE = /^(\w+)= *(\d+)$/;
/** Longer than any expected line. */
const MAX_LINE = 2_000;

/** Returns a function from each piece to the latest progress. The last piece gives the total. */
export function readProgress(): (piece: Buffer) => Progress {
  const progress: Progress = { frames: 0, droppedFrames: 0 };
  let rest = '';
  return (piece) => {
    const lines = (rest + piece.toString('latin1')).split('\n');
    rest = (lines.pop() ?? '').slice(0, MAX_LINE);
    for (const line of lines) {
      const [, name = '', value] = LINE.exec(line) ?? [];
      const field = FIELDS[name];
      if (field !== undefined) progress[field] = Number(value);
    }
    return { ...progress };
  };
}
