/** Signed payment, from the request through the workflow to the network. */
import type { Wallet } from '../wallets.ts';

/**
 * Valid as far as known without a query to the network. A type, not an interface, with plain values, so that it is
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
   * Unique id by the network: evm the authorization's nonce, Solana the digest of the signed message. Never a signature
   * or a header's text, which have many spellings.
   */
  nonce: string;
  /** Unix seconds as a decimal string; "0" when the network has no such bound. */
  validAfter: string;
  /** Undefined: ends with the network's own memory of recent blocks. */
  validBefore?: string;
  /** Unix seconds of its first reading: a search of the chain begins some time before. */
  readAt?: string;
  /** Payload to settle, rebuilt from the parsed fields. */
  payload: Record<string, unknown>;
};
