/** Which nonces of sign-ins were used: each once, whichever process is asked, whatever else restarts. */
import { hash, randomUUID } from 'node:crypto';
import type { Wallet } from '../../domain/wallets.ts';
import { createBatcher } from './batcher.ts';
import type { Sql, SqlClient } from './pool.ts';

export interface UsedNonce {
  wallet: Wallet;
  nonce: string;
  /** Unix ms: until then its message could be taken once more. */
  rememberUntilMs: number;
}

export interface SignInNonces {
  /**
   * Whether this is its first use, which is on disk then. Throws `unavailable` when that is unknown, or when more are
   * waiting than are let in.
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
 * The uses of a tick go as one statement, and one at a time: wallets cost nothing to make, and however many sign in, they
 * take one connection of the pool and wait for each other, not the ledger for them. Bench `wallets`.
 */
const LIMITS = { maxBatch: 256, maxInFlight: 1, maxWaiting: 4_096, deadlineMs: 5_000 } as const;

/**
 * Of a nonce that is there only its own claim is found again, in a statement that is repeated. By the clock of the database
 * nothing is accepted that may be forgotten already. In the order of ids, so that two processes do not wait for each other.
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

/** Of twins in one batch the first counts: a statement may name an id only once. */
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

/** A UUID by number of bytes only: what cannot be guessed back, and nobody can make to be another's. */
function idOf({ wallet, nonce }: UsedNonce): string {
  const digest = hash('sha256', `farebox sign-in ${wallet.family} ${wallet.address} ${nonce}`, 'hex');
  return digest.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** Forgets nonces that cannot be used again, a page at a time; the number forgotten. */
export async function purgeSignInNonces(sql: SqlClient, limit: number): Promise<number> {
  const { rowCount } = await sql.query(
    `delete from sign_in_nonces where ctid in (
       select ctid from sign_in_nonces where remember_until < clock_timestamp() limit $1)`,
    [limit],
  );
  return rowCount ?? 0;
}
