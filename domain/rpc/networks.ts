/** Networks of the JSON-RPC proxy (RPC-1). */

export type RpcFamily = 'evm' | 'starknet' | 'solana';

/** What a chain is called without its mainnet or testnet: extensions belong to chains. */
export type RpcChain =
  | 'arbitrum'
  | 'avalanche'
  | 'base'
  | 'blast'
  | 'bsc'
  | 'ethereum'
  | 'linea'
  | 'optimism'
  | 'polygon'
  | 'robinhood'
  | 'solana'
  | 'starknet'
  | 'zksync';

export interface RpcNetwork {
  slug: string;
  family: RpcFamily;
  chain: RpcChain;
  /** Credits of a call in the standard tier. */
  baseCredits: number;
}

const CHAINS: readonly [RpcChain, RpcFamily, number, readonly string[]][] = [
  ['arbitrum', 'evm', 20, ['mainnet', 'sepolia']],
  ['avalanche', 'evm', 20, ['fuji', 'mainnet']],
  ['base', 'evm', 20, ['mainnet', 'sepolia']],
  ['blast', 'evm', 20, ['mainnet', 'sepolia']],
  ['bsc', 'evm', 20, ['mainnet', 'testnet']],
  ['ethereum', 'evm', 20, ['holesky', 'mainnet', 'sepolia']],
  ['linea', 'evm', 20, ['mainnet', 'sepolia']],
  ['optimism', 'evm', 20, ['mainnet', 'sepolia']],
  ['polygon', 'evm', 20, ['amoy', 'mainnet']],
  ['robinhood', 'evm', 20, ['mainnet', 'testnet']],
  ['solana', 'solana', 30, ['devnet', 'mainnet']],
  ['starknet', 'starknet', 20, ['mainnet', 'sepolia']],
  ['zksync', 'evm', 30, ['mainnet', 'sepolia']],
];

/** All, by slug, in the order of the alphabet. */
export const RPC_NETWORKS: ReadonlyMap<string, RpcNetwork> = new Map(
  CHAINS.flatMap(([chain, family, baseCredits, places]) =>
    places.map((place): [string, RpcNetwork] => {
      const slug = `${chain}-${place}`;
      return [slug, { slug, family, chain, baseCredits }];
    }),
  ),
);
