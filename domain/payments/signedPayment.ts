/** Signed payment, from the request through the workflow to the network. */
import type { Wallet } from '../wallets.ts';

/**
 * Valid as far as can be checked without the network. A type, not an interface, of plain values, so that it is JSON.
 */
export type SignedPayment = {
  network: string;
  asset: string;
  payer: Wallet;
  payTo: string;
  /** Smallest units, decimal. */
  amount: string;
  /**
   * Unique id on the network: the authorization's nonce on evm, the digest of the signed message on Solana. Never a
   * signature or a header's text, which have many spellings.
   */
  nonce: string;
  /** Unix seconds as a decimal string; "0" when the network has no such bound. */
  validAfter: string;
  /** Undefined: valid while the network remembers the payment's recent block. */
  validBefore?: string;
  /** Unix seconds of its first reading; a search of the chain begins somewhat earlier. */
  readAt?: string;
  /** Payload to settle, rebuilt from the parsed fields. */
  payload: Record<string, unknown>;
};
