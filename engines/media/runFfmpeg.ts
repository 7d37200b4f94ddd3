/** Runs ffmpeg within the limits of all media programs. */
import { type LimitedRun, type RunEnd, runLimited } from '../child/runLimited.ts';

export interface FfmpegRun extends Omit<LimitedRun, 'title' | 'program'> {
  ffmpegPath: string;
  /** Options for input, conversion and output. Common options are added. */
  arguments: readonly string[];
  /** Largest single memory allocation. The default is enough for sound. */
  maxPieceBytes?: number;
  /** Log line of level info and above, as `[level] text` or `[part @ 0x…] [level] text`. */
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
