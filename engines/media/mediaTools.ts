import type { Recogniser } from '../speech/runPocketsphinx.ts';

/** Paths of the media programs and of their work folder. */
export interface MediaTools {
  ffmpegPath: string;
  ffprobePath: string;
  /** Speech synthesiser, if configured. */
  espeakPath?: string;
  /** Speech recogniser, if configured. */
  recogniser?: Recogniser;
  /** Parent of a private folder per run. */
  workFolder: string;
}
