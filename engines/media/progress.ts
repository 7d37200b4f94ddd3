/** What ffmpeg tells on its standard output about itself with `-progress pipe:1`: lines of `name=value`, again and again. */

export interface Progress {
  /** Pictures in its first video stream so far; 0 where it writes none. */
  frames: number;
  /** Pictures that had no room at the output's frame rate, and so are not among these. */
  droppedFrames: number;
}

const FIELDS: Record<string, keyof Progress> = { frame: 'frames', drop_frames: 'droppedFrames' };
const LINE = /^(\w+)= *(\d+)$/;
/** Longer than any line of it. */
const MAX_LINE = 2_000;

/** Answers each piece with the last account; of a finished run the last piece brings the whole. */
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
