/** Sign-in with a wallet, put together: the rules, then the signature, then the nonce, which is used up by the two. */
import { SignInRefused } from '../../../domain/signIn/refused.ts';
import { readSignIn } from '../../../domain/signIn/rules.ts';
import type { X402Settings } from '../../../infra/config/x402.ts';
import type { Logger } from '../../../infra/log.ts';
import type { DatabaseClock } from '../../../infra/postgres/databaseClock.ts';
import type { Sql } from '../../../infra/postgres/pool.ts';
import { createSignInNonces } from '../../../infra/postgres/signInNonces.ts';
import { checkEvm, checkSolana } from './checkSignature.ts';
import { loadRecoverSigner } from './recoverSigner.ts';
import type { SignIn } from './signIn.ts';
import { createSmartWallets, type EthCall } from './smartWallets.ts';

export interface SignInParts {
  settings: X402Settings;
  sql: Sql;
  clock: Pick<DatabaseClock, 'now'>;
  log: Logger;
  /** Undefined: no chain can be asked, and wallets that are contracts cannot sign in. */
  ethCall?: EthCall | undefined;
}

export function createSignIn({ settings, sql, clock, log, ethCall }: SignInParts): SignIn {
  const nonces = createSignInNonces(sql);
  const askable = settings.networks.filter(({ rpcUrls }) => rpcUrls.length > 0);
  const networks = new Set(askable.map(({ network }) => network));
  const wallets = createSmartWallets({ ethCall, networks, log });
  const recovery = loadRecoverSigner();
  // Told to whoever signs in; until then it must not count as nobody's.
  recovery.catch(() => undefined);
  return {
    async verify(header) {
      const read = readSignIn(header, {
        nowMs: clock.now(),
        domains: settings.signInDomains,
        networks: settings.signInNetworks,
      });
      if (read.wallet.family === 'evm') await checkEvm(read, { recover: await recovery, wallets });
      else checkSolana(read);
      if (await nonces.use(read)) return read.wallet;
      throw new SignInRefused(
        'X402_SIGN_IN_NONCE_REUSED',
        'This sign-in was used already: sign each request anew, with a nonce of its own.',
      );
    },
    close: () => nonces.close(),
  };
}
