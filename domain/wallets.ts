/** A wallet as a caller and as a payer. One owner has one account, whatever the spelling of the address. */

export type WalletFamily = 'evm' | 'solana';

export interface Wallet {
  family: WalletFamily;
  /** One spelling per owner: evm in lower case with 0x, Solana in base58 as it is. */
  address: string;
  /**
   * CAIP-2, of a wallet that is a contract: at the same address on another chain another contract may stand, with another
   * owner. Left out: a key of its own signs for it on every chain.
   */
  chain?: string;
}

/** What tells the owners of wallets apart, in one word or two. */
export function walletName({ address, chain }: Wallet): string {
  return chain === undefined ? address : `${address} ${chain}`;
}

/** The wallet that has this name. */
export function walletNamed(family: WalletFamily, name: string): Wallet {
  const [address = name, chain] = name.split(' ');
  return { family, address, ...(chain !== undefined && { chain }) };
}

export function isSameWallet(one: Wallet, other: Wallet): boolean {
  return one.family === other.family && walletName(one) === walletName(other);
}

/** Address in a path or a header (WALLET-17). */
export const WALLET_ADDRESS = /^(0x[a-fA-F0-9]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/;

/** Undefined: neither an evm address nor one that could be Solana's. That the latter has 32 bytes is looked at elsewhere. */
export function toWallet(address: string): Wallet | undefined {
  if (!WALLET_ADDRESS.test(address)) return undefined;
  return address.startsWith('0x') ? { family: 'evm', address: address.toLowerCase() } : { family: 'solana', address };
}

/** The family of a CAIP-2 network; undefined for a chain of neither. */
export function familyOf(network: string): WalletFamily | undefined {
  if (/^eip155:[1-9][0-9]{0,15}$/.test(network)) return 'evm';
  return /^solana:[1-9A-HJ-NP-Za-km-z]{32}$/.test(network) ? 'solana' : undefined;
}

export const BASE_MAINNET = 'eip155:8453';
export const SOLANA_MAINNET = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

/** Wallets sign in for these while no payment network is configured. */
export const DEFAULT_NETWORKS: readonly string[] = [BASE_MAINNET, SOLANA_MAINNET];
