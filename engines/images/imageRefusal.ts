import type { ErrorCode } from '../../domain/errors.ts';

/** A decoder may report an error for every row. */
const MAX_DETAIL_LENGTH = 300;

/** Thrown by a task when the file is at fault. */
export class ImageRefusal extends Error {
  readonly code: ErrorCode;
  /** Predicate after the name of the image, such as "is animated". */
  readonly fault: string;

  constructor(fault: string, { code = 'invalid_media', cause }: { code?: ErrorCode; cause?: unknown } = {}) {
    super(cause instanceof Error ? cause.message.slice(0, MAX_DETAIL_LENGTH) : fault, { cause });
    this.code = code;
    this.fault = fault;
  }
}

export const OVER_LIMITS = 'could not be processed within the limits on time and memory';
