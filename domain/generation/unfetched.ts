/** Refusal of a medium that could not be fetched: one message for every cause (FETCH-5). */
import { type ErrorCode, FareboxError } from '../errors.ts';

export interface FetchRefusal {
  code: ErrorCode;
  message: string;
  fields: Record<string, string[]>;
}

/** Undefined: the error is not about the client's address. */
export function unfetched(error: unknown, field: string): FetchRefusal | undefined {
  if (!(error instanceof FareboxError)) return undefined;
  const { code } = error;
  if (code === 'payload_too_large') {
    return { code, message: `${field}: ${error.message}`, fields: { [field]: [error.message] } };
  }
  if (code !== 'invalid_source') return undefined;
  const message = `The ${field} could not be fetched.`;
  return { code, message, fields: { [field]: [message] } };
}
