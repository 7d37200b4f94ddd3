/** A field that is wrong, in the documented shape (specification 7). */
import { FareboxError } from '../domain/errors.ts';

export function invalid(field: string, words: string): FareboxError {
  const fields = { [field]: [words] };
  return new FareboxError({ code: 'invalid_request', message: 'Invalid request parameters', fields });
}
