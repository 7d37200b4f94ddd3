/** What an upstream is told of who asks. */
import { createHash } from 'node:crypto';

/** One and the same upstream for an end user of an account, and nothing that tells who either is (specification 2.1). */
export function endUserOf(accountId: string, anonUserId: string | undefined): string {
  const joined = anonUserId ? `${accountId}||${anonUserId}` : accountId;
  return createHash('sha256').update(`farebox end user\n${joined}`).digest('base64url').slice(0, 32);
}
