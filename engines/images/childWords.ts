/** Messages between the image work and its child. Images go through files. */
import type { ErrorCode } from '../../domain/errors.ts';
import type { ChildAnswer } from '../child/childPool.ts';
import type { ImageTaskInput, ImageTaskName, ImageTaskResult } from './imageTasks.ts';

export interface ImageQuestion {
  task: ImageTaskName;
  input: ImageTaskInput<ImageTaskName>;
}

export interface ImageAnswer extends ChildAnswer {
  result?: ImageTaskResult<ImageTaskName>;
  /** Set when the file is at fault. */
  refusal?: { code: ErrorCode; fault: string; detail: string };
  /** Set when the task or the machine is at fault. */
  broken?: string;
}
