/** Errors for files and bodies above their limit. */
import { FareboxError } from '../../domain/errors.ts';

export function fileTooLarge(maxFileBytes: number): FareboxError {
  const megabytes = Math.round(maxFileBytes / 1_048_576);
  return new FareboxError({
    code: 'payload_too_large',
    message: `File exceeds the maximum allowed size of ${megabytes} MB.`,
  });
}

export function bodyTooLarge(): FareboxError {
  return new FareboxError({
    code: 'body_too_large',
    message: 'Request body exceeds the maximum allowed size.',
  });
}
