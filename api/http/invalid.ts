/** Error about one wrong field (API-8). */
import { FareboxError } from '../../domain/errors.ts';
import type { WrongField } from '../../domain/generation/terms.ts';

export function invalid(field: string, words: string): FareboxError {
  const fields = { [field]: [words] };
  return new FareboxError({ code: 'invalid_request', message: 'Invalid request parameters', fields });
}

/** The same for what the rules of a model found. */
export function invalidOffer({ field, message, supportedVoices }: WrongField): FareboxError {
  return new FareboxError({
    code: 'invalid_request',
    message: 'Invalid request parameters',
    fields: { [field]: [message] },
    ...(supportedVoices === undefined ? {} : { details: { supported_voices: supportedVoices } }),
  });
}
