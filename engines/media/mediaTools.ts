import type { Recogniser } from '../speech/runPocketsphinx.ts';

/** Where the media programs are and where they may work. */
export interface MediaTools {
  ffmpegPath: string;
  ffprobePath: string;
  /** The speech synthesiser; absent where none is named. */
  espeakPath?: string;
  /** The speech recogniser; absent where none is named. */
  recogniser?: Recogniser;
  /** Below it every run gets a private folder of its own. */
  workFolder: string;
}
