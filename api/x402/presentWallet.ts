/** Form of addresses in answers: EVM with checksum, Solana unchanged. */
import { getAddress } from 'viem';
import type { Wallet } from '../../domain/wallets.ts';

export function presentWallet({ family, address }: Wallet): string {
  return family === 'evm' ? getAddress(address) : address;
}
