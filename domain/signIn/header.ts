/** Value of a sign-in header: base64 of a JSON object (WALLET-1). */
import { readHeaderJson } from '../headerJson.ts';
import { SignInRefused } from './refused.ts';

/** The object in it. Throws SignInRefused: parse error, or invalid payload when it is JSON but no object. */
export function decodeHeader(header: string): Record<string, unknown> {
  const reading = readHeaderJson(header);
  if (!reading.ok) {
    throw new SignInRefused('X402_SIGN_IN_PARSE_ERROR', `The sign-in header ${reading.problem}.`);
  }
  const { value } = reading;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new SignInRefused('X402_SIGN_IN_INVALID_PAYLOAD', 'The sign-in must be a JSON object.');
  }
  return value as Record<string, unknown>;
}
