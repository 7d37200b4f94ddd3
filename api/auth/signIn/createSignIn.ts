/** Sign-in with a wallet: first the rules, then the signature, then the nonce, which is used up. */
import { FareboxError } from '../../../domain/errors.ts';
import { readPayload } from '../../../domain/signIn/payload.ts';
import { SignInRefused } from '../../../domain/signIn/refused.ts';
import { readSignIn, type UnverifiedSignIn } from '../../../domain/signIn/rules.ts';
import type { Wallet, WalletFamily } from '../../../domain/wallets.ts';
import type { X402Settings } from '../../../infra/config/x402.ts';
import type { Logger } from '../../../infra/log.ts';
import type { DatabaseClock } from '../../../infra/postgres/databaseClock.ts';
import type { Sql } from '../../../infra/postgres/pool.ts';
import { createSignInNonces } from '../../../infra/postgres/signInNonces.ts';
import { ownerOf } from '../../../infra/postgres/walletAccounts.ts';
import { signInsSeen } from '../../../infra/telemetry/counters.ts';
import { keepLabelled } from '../../../infra/telemetry/labelled.ts';
import type { SignInThrottle } from '../signInThrottle.ts';
import { checkEvm, checkSolana } from './checkSignature.ts';
import { loadRecoverSigner } from './recoverSigner.ts';
import type { SignIn } from './signIn.ts';
import { createSmartWallets, type EthCall } from './smartWallets.ts';

export interface SignInParts {
  settings: X402Settings;
  sql: Sql;
  clock: Pick<DatabaseClock, 'now'>;
  log: Logger;
  throttle: Pick<SignInThrottle, 'askChain' | 'requireOpen'>;
  /** Undefined: no chain can be queried, and contract wallets cannot sign in. */
  ethCall?: EthCall | undefined;
}

export function createSignIn({ settings, sql, clock, log, throttle, ethCall }: SignInParts): SignIn {
  const seen = keepLabelled(signInsSeen);
  const nonces = createSignInNonces(sql);
  const askable = settings.networks.filter(({ rpcUrls }) => rpcUrls.length > 0);
  const networks = new Set(askable.map(({ network }) => network));
  const wallets = createSmartWallets({ ethCall, networks, guard: throttle.askChain, log });
  const recovery = loadRecoverSigner();
  // The error goes to each client that signs in; until then it must not count as an unhandled rejection.
  recovery.catch(() => undefined);

  async function signerOf(read: UnverifiedSignIn, from: string): Promise<Wallet> {
    if (read.wallet.family === 'solana') {
      checkSolana(read);
      return read.wallet;
    }
    const signedBy = await checkEvm(read, { recover: await recovery, wallets, from });
    return signedBy === 'key' ? read.wallet : await ownerOf(sql, { ...read.wallet, chain: read.network });
  }

  async function verify(visit: SignInAttempt): Promise<Wallet> {
    const payload = readPayload(visit.header);
    visit.family = payload.fields.family;
    const read = readSignIn(payload, {
      nowMs: clock.now(),
      domains: settings.signInDomains,
      networks: settings.signInNetworks,
    });
    const { from } = visit;
    throttle.requireOpen(from, read.wallet, read.network);
    const wallet = await signerOf(read, from);
    if (await nonces.use(read)) return wallet;
    throw new SignInRefused(
      'X402_SIGN_IN_NONCE_REUSED',
      'This sign-in was used already: sign each request anew, with a nonce of its own.',
    );
  }

  return {
    async verify(header, from) {
      const visit: SignInAttempt = { header, from, family: 'unknown' };
      try {
        const wallet = await verify(visit);
        seen(wallet.family, 'ok').inc();
        return wallet;
      } catch (error) {
        seen(visit.family, outcomeOf(error)).inc();
        throw error;
      }
    },
    close: () => nonces.close(),
  };
}

interface SignInAttempt {
  header: string;
  /** Address of the client. */
  from: string;
  /** `unknown` until the header is parsed. */
  family: WalletFamily | 'unknown';
}

/** Label from a closed list: codes of refusals and of errors. */
function outcomeOf(error: unknown): string {
  if (error instanceof SignInRefused) return error.code.replace('X402_SIGN_IN_', '').toLowerCase();
  return error instanceof FareboxError ? error.code : 'failed';
}
