/** Names end users for upstreams. */
import { hash } from 'node:crypto';

/** Name of an end user for an upstream: constant for all requests, and it reveals nobody (API-4). */
export function endUserOf(accountId: string, anonUserId: string | undefined): string {
  const joined = anonUserId ? `${accountId}||${anonUserId}` : accountId;
  return hash('sha256', `farebox end user\n${joined}`, 'base64url').slice(0, 32);
}
