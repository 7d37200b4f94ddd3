/** End users of an account: the field that names them, and their names for upstreams (API-4, TEXT-2). */
import { hash } from 'node:crypto';
import { z } from 'zod';

const MAX_LENGTH = 128;

/** Field `anon_user_id`. Two bars join it to the account id. */
export const anonUserId = z
  .string()
  .min(1)
  .max(MAX_LENGTH)
  .regex(/^[\x20-\x7e]*$/, 'printable ASCII characters only')
  .refine((value) => !value.includes('||'), 'must not contain "||"')
  .nullable()
  .optional();

/** Name of an end user for an upstream: constant for all requests, and it reveals nobody (API-4). */
export function endUserOf(accountId: string, name: string | null | undefined): string {
  const joined = name ? `${accountId}||${name}` : accountId;
  return hash('sha256', `farebox end user\n${joined}`, 'base64url').slice(0, 32);
}
