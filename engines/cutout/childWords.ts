/** What the cutter and its child say to each other. Pictures go through files. */
import type { ChildAnswer } from '../child/childPool.ts';
import type { Size } from './picture.ts';

/** Why there is no picture. */
export type CutRefusal = 'undecodable' | 'transparent' | 'no_subject';

export interface CutQuestion {
  sourcePath: string;
  outputPath: string;
}

/** Either the size of what was written, or why nothing was. */
export interface CutAnswer extends ChildAnswer {
  size?: Size;
  refusal?: CutRefusal;
  /** For the log. */
  detail?: string;
}
