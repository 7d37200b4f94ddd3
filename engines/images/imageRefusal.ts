import type { ErrorCode } from '../../domain/errors.ts';

/** A decoder may complain of every row. */
const MAX_DETAIL_LENGTH = 300;

/** Thrown by a task: the file is at fault, not the task. Its sentence goes on after the name of the image. */
export class ImageRefusal extends Error {
  readonly code: ErrorCode;
  /** "is animated": what is told of the image. */
  readonly fault: string;

  constructor(fault: string, { code = 'invalid_media', cause }: { code?: ErrorCode; cause?: unknown } = {}) {
    super(cause instanceof Error ? cause.message.slice(0, MAX_DETAIL_LENGTH) : fault, { cause });
    this.code = code;
    this.fault = fault;
  }
}

export const OVER_LIMITS = 'could not be processed within the limits on time and memory';
