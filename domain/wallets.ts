/** Wallets as callers and payers. One owner has one account, whatever the spelling of the address. */

export type WalletFamily = 'evm' | 'solana';

export interface Wallet {
  family: WalletFamily;
  /** One spelling per owner: evm in lower case with 0x, Solana in base58 as given. */
  address: string;
  /**
   * CAIP-2 chain of a contract wallet: another chain may have another contract, with another owner, at the same
   * address. Left out: a key signs for the address on every chain.
   */
  chain?: string;
}

/** Name that distinguishes owners: the address, and the chain of a contract. */
export function walletName({ address, chain }: Wallet): string {
  return chain === undefined ? address : `${address} ${chain}`;
}

/** Inverse of `walletName`. */
export function walletNamed(family: WalletFamily, name: string): Wallet {
  const [address = name, chain] = name.split(' ');
  return { family, address, ...(chain !== undefined && { chain }) };
}

export function isSameWallet(one: Wallet, other: Wallet): boolean {
  return one.family === other.family && walletName(one) === walletName(other);
}

/** Address in a path or a header (WALLET-17). */
export const WALLET_ADDRESS = /^(0x[a-fA-F0-9]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/;

/** Undefined: neither an evm nor a possible Solana address. The 32 bytes of the latter are checked elsewhere. */
export function toWallet(address: string): Wallet | undefined {
  if (!WALLET_ADDRESS.test(address)) return undefined;
  return address.startsWith('0x') ? { family: 'evm', address: address.toLowerCase() } : { family: 'solana', address };
}

/** Family of a CAIP-2 network; undefined for other chains. */
export function familyOf(network: string): WalletFamily | undefined {
  if (/^eip155:[1-9][0-9]{0,15}$/.test(network)) return 'evm';
  return /^solana:[1-9A-HJ-NP-Za-km-z]{32}$/.test(network) ? 'solana' : undefined;
}

export const BASE_MAINNET = 'eip155:8453';
export const SOLANA_MAINNET = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

/** Networks for sign-in while no payment network is configured. */
export const DEFAULT_NETWORKS: readonly string[] = [BASE_MAINNET, SOLANA_MAINNET];
