import { setTimeout as sleep } from 'node:timers/promises';
import { type Hex, type TransactionReceipt, TransactionReceiptNotFoundError } from 'viem';

interface ReadsReceipts {
  getTransactionReceipt(of: { hash: Hex }): Promise<TransactionReceipt>;
}

const POLL_MS = 20;
const LIMIT_MS = 60_000;

/**
 * The receipt of a transaction, as soon as the node has it; throws after a minute without one. viem's own wait looks again
 * with every new block only, and misses a block that comes while it looks: on a chain that makes a block for each transaction
 * no other follows.
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
