import { setTimeout as sleep } from 'node:timers/promises';
import { type Hex, type TransactionReceipt, TransactionReceiptNotFoundError } from 'viem';

interface ReadsReceipts {
  getTransactionReceipt(of: { hash: Hex }): Promise<TransactionReceipt>;
}

const POLL_MS = 20;
const LIMIT_MS = 60_000;

/**
 * Polls for the receipt of a transaction. Throws after a minute. viem's own wait polls only on new blocks and misses a
 * block that arrives meanwhile. A chain with one block per transaction then produces no other.
 */
export async function untilMined(client: ReadsReceipts, hash: Hex, pollMs = POLL_MS): Promise<TransactionReceipt> {
  const deadline = Date.now() + LIMIT_MS;
  for (;;) {
    try {
      return await client.getTransactionReceipt({ hash });
    } catch (error) {
      if (!(error instanceof TransactionReceiptNotFoundError) || Date.now() > deadline) throw error;
    }
    await sleep(pollMs);
  }
}
