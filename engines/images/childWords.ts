/** What the image work and its child say to each other. Pictures go through files. */
import type { ErrorCode } from '../../domain/errors.ts';
import type { ChildAnswer } from '../child/childPool.ts';
import type { ImageTaskInput, ImageTaskName, ImageTaskResult } from './imageTasks.ts';

export interface ImageQuestion {
  task: ImageTaskName;
  input: ImageTaskInput<ImageTaskName>;
}

export interface ImageAnswer extends ChildAnswer {
  result?: ImageTaskResult<ImageTaskName>;
  /** The file is at fault. */
  refusal?: { code: ErrorCode; fault: string; detail: string };
  /** The task is, or the machine. */
  broken?: string;
}
