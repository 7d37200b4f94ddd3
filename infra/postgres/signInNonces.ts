/** Used nonces of sign-ins: each works once, across all processes and restarts. */
import { hash, randomUUID } from 'node:crypto';
import type { Wallet } from '../../domain/wallets.ts';
import { createBatcher } from './batcher.ts';
import type { Sql, SqlClient } from './pool.ts';

export interface UsedNonce {
  wallet: Wallet;
  nonce: string;
  /** Unix ms until which its message could be accepted again. */
  rememberUntilMs: number;
}

export interface SignInNonces {
  /**
   * Whether this is its first use, which is then on disk. Throws `unavailable` when the result is unknown or the queue
   * is full.
   */
  use(nonce: UsedNonce): Promise<boolean>;
  close(): Promise<void>;
}

interface Claim {
  id: string;
  claim: string;
  rememberUntil: Date;
}

/**
 * The uses of a tick form one statement, one at a time. Wallets cost nothing to create: however many sign in, they use
 * one connection of the pool and wait for each other, and the ledger does not wait. Bench `wallets`.
 */
const LIMITS = { maxBatch: 256, maxInFlight: 1, maxWaiting: 4_096, deadlineMs: 5_000 } as const;

/**
 * A repeated statement finds only its own claims again. By the database clock, a nonce that may be deleted already is
 * never accepted. Sorted ids keep two processes from a deadlock.
 */
const USE = {
  name: 'use_sign_in_nonces',
  text: `insert into sign_in_nonces (id, claim, remember_until)
    select * from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) as used (id, claim, remember_until)
     where remember_until > clock_timestamp()
    on conflict (id) do update set claim = excluded.claim where sign_in_nonces.claim = excluded.claim
    returning id`,
};

export function createSignInNonces(sql: Sql): SignInNonces {
  const uses = createBatcher<Claim, boolean>({ ...LIMITS, run: (claims) => useAll(sql, claims) });
  return {
    use: (nonce) => uses.call({ id: idOf(nonce), claim: randomUUID(), rememberUntil: new Date(nonce.rememberUntilMs) }),
    close: () => uses.close(),
  };
}

/** The first of equal nonces in a batch counts: a statement may name an id only once. */
async function useAll(sql: Sql, claims: Claim[]): Promise<boolean[]> {
  const first = new Map<string, Claim>();
  for (const claim of claims) if (!first.has(claim.id)) first.set(claim.id, claim);
  const sorted = [...first.values()].sort((left, right) => (left.id < right.id ? -1 : 1));
  const { rows } = await sql.query<{ id: string }>({
    ...USE,
    values: [
      sorted.map(({ id }) => id),
      sorted.map(({ claim }) => claim),
      sorted.map(({ rememberUntil }) => rememberUntil),
    ],
  });
  const used = new Set(rows.map(({ id }) => id));
  return claims.map((claim) => used.has(claim.id) && first.get(claim.id) === claim);
}

/** 128 bits of SHA-256 in UUID form: the id does not reveal the nonce, and nobody can match the id of another. */
function idOf({ wallet, nonce }: UsedNonce): string {
  const digest = hash('sha256', `farebox sign-in ${wallet.family} ${wallet.address} ${nonce}`, 'hex');
  return digest.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** Deletes a page of expired nonces; returns their number. */
export async function purgeSignInNonces(sql: SqlClient, limit: number): Promise<number> {
  const { rowCount } = await sql.query(
    `delete from sign_in_nonces where ctid in (
       select ctid from sign_in_nonces where remember_until < clock_timestamp() limit $1)`,
    [limit],
  );
  return rowCount ?? 0;
}
