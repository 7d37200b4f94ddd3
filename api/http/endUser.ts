/** What an upstream is told of who asks. */
import { hash } from 'node:crypto';

/** Name of an end user for an upstream: the same for each request, and without a trace of who it is (API-4). */
export function endUserOf(accountId: string, anonUserId: string | undefined): string {
  const joined = anonUserId ? `${accountId}||${anonUserId}` : accountId;
  return hash('sha256', `farebox end user\n${joined}`, 'base64url').slice(0, 32);
}
