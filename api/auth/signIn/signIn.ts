/** Sign-in with a wallet, as the authentication needs it (WALLET-1, WALLET-2). */
import type { Wallet } from '../../../domain/wallets.ts';

export interface SignIn {
  /**
   * The wallet that signed this header's value, whose nonce is used up by it. `from`: the client's address. Throws
   * SignInRefused (401 with its code), or FareboxError: `unavailable` when a smart wallet's chain does not answer,
   * `rate_limited` when it was asked too much for that address.
   */
  verify(header: string, from: string): Promise<Wallet>;
  close(): Promise<void>;
}
