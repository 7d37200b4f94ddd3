/** Opens a reader of what was paid on a network; it needs its nodes and no key. */
import type { PaymentNetworkSettings } from '../../domain/payments/networkSettings.ts';
import { createEvmTransfers } from './evm/readTransfers.ts';
import type { TransferReader } from './incomingTransfer.ts';
import { createSolanaTransfers } from './solana/readTransfers.ts';

export function createTransferReader(settings: PaymentNetworkSettings): TransferReader {
  return settings.family === 'evm' ? createEvmTransfers(settings) : createSolanaTransfers(settings);
}
