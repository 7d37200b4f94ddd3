/** A payment that its payer signed, as it goes from the request through the workflow to the network. */
import type { Wallet } from '../wallets.ts';

/**
 * Good as far as it can be told without asking the network. A type, not an interface, and plain values, so that it is
 * JSON.
 */
export type SignedPayment = {
  network: string;
  asset: string;
  payer: Wallet;
  payTo: string;
  /** Smallest units, decimal. */
  amount: string;
  /**
   * What the network itself lets happen only once: evm the authorization's nonce, Solana the digest of the signed message.
   * Never a signature or a header's text, which have many spellings.
   */
  nonce: string;
  /** Unix seconds as a decimal string; "0" where the network has no such bound. */
  validAfter: string;
  /** Undefined: ends with the network's own memory of recent blocks. */
  validBefore?: string;
  /** Unix seconds when it was read: where a search of the chain begins, some time before. Of the first time it was seen. */
  readAt?: string;
  /** Rebuilt from the parsed fields: what is settled, never what was sent. */
  payload: Record<string, unknown>;
};
