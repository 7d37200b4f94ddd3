/** One ffmpeg run under the limits of every media program. */
import { type LimitedRun, type RunEnd, runLimited } from '../child/runLimited.ts';

export interface FfmpegRun extends Omit<LimitedRun, 'title' | 'program'> {
  ffmpegPath: string;
  /** What to read, convert and write; the options that every run has are added. */
  arguments: readonly string[];
  /** Largest piece of memory that it may ask for at once; enough for sound when left out. */
  maxPieceBytes?: number;
  /** A line of its log, of level info and above, as `[level] text` or `[part @ 0x…] [level] text`. */
  onLog?: (line: string) => void;
}

export type FfmpegEnd = RunEnd;

const MAX_PIECE_BYTES = 128 * 1024 * 1024;
const COMMON = ['-hide_banner', '-nostdin', '-nostats', '-v', 'level+info', '-max_alloc'];

export function runFfmpeg({ ffmpegPath, maxPieceBytes = MAX_PIECE_BYTES, ...run }: FfmpegRun): Promise<FfmpegEnd> {
  return runLimited({
    ...run,
    title: 'ffmpeg',
    program: ffmpegPath,
    arguments: [...COMMON, String(maxPieceBytes), ...run.arguments],
  });
}
