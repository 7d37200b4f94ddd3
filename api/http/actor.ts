/** The actor of a request, for the audit trail. */
import type { Caller } from '../../domain/caller.ts';
import { FareboxError } from '../../domain/errors.ts';
import type { Actor } from '../../infra/postgres/audit.ts';

/** Only for routes with `access: 'admin'`: their callers have a key. */
export function actorOf(request: { caller: Caller; requestId: string }): Extract<Actor, { keyId: string }> {
  const { keyId } = request.caller;
  if (keyId !== null) return { keyId, requestId: request.requestId };
  throw new FareboxError({
    code: 'internal',
    message: 'Internal server error',
    internal: 'an administrative act without a key',
  });
}
