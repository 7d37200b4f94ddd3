/** Idempotency-Key on the queue routes: the same key and body is the same job, whatever answer was lost. */
import { createHash } from 'node:crypto';
import type pg from 'pg';
import { type Caller, keyScopeOf } from '../../domain/caller.ts';
import { FareboxError } from '../../domain/errors.ts';
import { claimIdempotencyKey, renewIdempotencyKey } from '../../infra/postgres/idempotency.ts';
import { timeOrderedId } from '../../infra/timeOrderedId.ts';

export interface Claim {
  queueId: string;
  /** Undefined when the client sent no key: the queue_id is then new. */
  key: string | undefined;
  /** An earlier request had this key and this body. */
  known: boolean;
  /** This request has replaced the queue_id once already. */
  renewed: boolean;
}

const KEY = /^[A-Za-z0-9_-]{1,255}$/;

/** Undefined when none was sent. Throws FareboxError `invalid_request`. */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined || (typeof header === 'string' && KEY.test(header))) return header;
  const message = 'Idempotency-Key must match [A-Za-z0-9_-]{1,255}';
  throw new FareboxError({ code: 'invalid_request', message });
}

export function idempotencyMismatch(): FareboxError {
  const message = 'This Idempotency-Key was already used with a different request body';
  return new FareboxError({ code: 'idempotency_mismatch', message });
}

export async function claimKey(
  sql: pg.Pool,
  request: {
    caller: Caller;
    header: string | string[] | undefined;
    route: string;
    body: Readonly<Record<string, unknown>>;
  },
): Promise<Claim> {
  const queueId = timeOrderedId();
  const key = readIdempotencyKey(request.header);
  const fresh = { known: false, renewed: false };
  if (key === undefined) return { queueId, key, ...fresh };
  const { accountId, keyId } = request.caller;
  const claimed = await claimIdempotencyKey(sql, {
    ...{ accountId, keyId, visibleTo: keyScopeOf(request.caller), key },
    route: request.route,
    bodySha256: digestOf(request.body),
    queueId,
  });
  if (claimed.outcome === 'mismatch') throw idempotencyMismatch();
  if (claimed.outcome === 'foreign') {
    const message = 'This Idempotency-Key was already used with another API key';
    throw new FareboxError({ code: 'idempotency_mismatch', message });
  }
  if (claimed.outcome === 'new') return { queueId, key, ...fresh };
  return { queueId: claimed.queueId, key, known: true, renewed: false };
}

/**
 * Gives the key a new queue_id after a refused attempt. Of two concurrent requests one replaces it, and both go on with
 * the same id.
 */
export async function renewClaim(sql: pg.Pool, caller: Caller, claim: Claim): Promise<Claim> {
  const toQueueId = timeOrderedId();
  const renewed = { ...claim, renewed: true };
  if (claim.key === undefined) return { ...renewed, queueId: toQueueId };
  const { accountId } = caller;
  const swap = { accountId, key: claim.key, fromQueueId: claim.queueId, toQueueId };
  const queueId = (await renewIdempotencyKey(sql, swap)) ?? toQueueId;
  return { ...renewed, queueId, known: queueId !== toQueueId };
}

/** Digest over sorted fields, so that the order of a body does not matter. */
function digestOf(body: Readonly<Record<string, unknown>>): Buffer {
  const fields = Object.keys(body)
    .filter((name) => body[name] !== undefined)
    .sort()
    .map((name) => [name, body[name]]);
  return createHash('sha256').update(JSON.stringify(fields)).digest();
}
