/** Sign-in with a wallet, as the authentication needs it (WALLET-1, WALLET-2). */
import type { Wallet } from '../../../domain/wallets.ts';

export interface SignIn {
  /**
   * The wallet that signed the value of this header; its nonce is used up. `from`: address of the client. Throws
   * SignInRefused (401 with its code), or FareboxError: `unavailable` when the chain of a contract wallet does not
   * answer, `rate_limited` when it was queried too often for that address.
   */
  verify(header: string, from: string): Promise<Wallet>;
  close(): Promise<void>;
}
