/** What a chain says was paid to `payTo`, as deep as a credit must be: the other side of the books. */
import type { Wallet } from '../../domain/wallets.ts';

export interface IncomingTransfer {
  network: string;
  asset: string;
  transaction: string;
  /** Unix seconds of its block. */
  atSeconds: number;
  /** Smallest units of the token. */
  amount: string;
  /** Undefined: sent in another way than by a payment that its payer signed for somebody to hand in. */
  payment?: { payer: Wallet; nonce: string };
}

export interface TransferReader {
  /** Oldest first. Throws ChainUnavailable. */
  read(sinceSeconds: number, signal: AbortSignal): AsyncIterable<IncomingTransfer>;
  close(): Promise<void>;
}
