/** How addresses are shown: one of EVM with its checksum, one of Solana as it is. */
import { getAddress } from 'viem';
import type { Wallet } from '../../domain/wallets.ts';

export function shownWallet({ family, address }: Wallet): string {
  return family === 'evm' ? getAddress(address) : address;
}
