/** Sign-in with its own database, as in two processes with a pool each. */
import type pg from 'pg';
import { createSignIn, type SignInParts } from '../../../../api/auth/signIn/createSignIn.ts';
import type { SignIn } from '../../../../api/auth/signIn/signIn.ts';
import { SignInRefused } from '../../../../domain/signIn/refused.ts';
import type { X402Settings } from '../../../../infra/config/x402.ts';
import { createLogger } from '../../../../infra/log.ts';
import { openPool } from '../../../../infra/postgres/pool.ts';
import { createDatabase } from '../../../harness/services.ts';
import { BASE, DOMAIN, encode, SOLANA } from '../../../harness/signIns.ts';

export const SETTINGS: X402Settings = {
  signInDomains: [DOMAIN, '127.0.0.1'],
  signInNetworks: [BASE, SOLANA],
  networks: [],
};

/** Throttles nothing. Tests of limits are in signInThrottle.test.ts. */
export const OPEN_THROTTLE: SignInParts['throttle'] = {
  requireOpen: () => undefined,
  askChain: (_from, _wallet, ask) => ask(),
};
export const FROM = '127.0.0.1';

export interface SignInWorld {
  pool: pg.Pool;
  /** Opens a sign-in with its own pool. */
  open(parts?: Partial<SignInParts>): SignIn;
  close(): Promise<void>;
}

export async function createSignInWorld(): Promise<SignInWorld> {
  const databaseUrl = await createDatabase();
  const open = () => openPool({ databaseUrl, applicationName: 'sign-in-test', max: 4 });
  const pool = open();
  const pools = [pool];
  const signIns: SignIn[] = [];
  const log = createLogger({ level: 'silent', name: 'sign-in-test' });
  return {
    pool,
    open(parts = {}) {
      const sql = open();
      const signIn = createSignIn({
        settings: SETTINGS,
        sql,
        clock: Date,
        log,
        throttle: OPEN_THROTTLE,
        ...parts,
      });
      pools.push(sql);
      signIns.push(signIn);
      return signIn;
    },
    async close() {
      await Promise.all(signIns.map((signIn) => signIn.close()));
      await Promise.all(pools.map((one) => one.end()));
    },
  };
}

/** Returns the code of the refusal without the common prefix, or undefined when signed in. */
export async function codeOf(signIn: SignIn, sent: unknown): Promise<string | undefined> {
  try {
    await signIn.verify(typeof sent === 'string' ? sent : encode(sent), FROM);
    return undefined;
  } catch (error) {
    if (error instanceof SignInRefused) return error.code.replace('X402_SIGN_IN_', '');
    throw error;
  }
}
