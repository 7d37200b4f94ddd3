/** What an upstream is told of who asks. */
import { hash } from 'node:crypto';

/** One and the same upstream for an end user of an account, and nothing that tells who either is (specification 2.1). */
export function endUserOf(accountId: string, anonUserId: string | undefined): string {
  const joined = anonUserId ? `${accountId}||${anonUserId}` : accountId;
  return hash('sha256', `farebox end user\n${joined}`, 'base64url').slice(0, 32);
}
