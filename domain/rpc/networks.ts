/** Networks of the JSON-RPC proxy (RPC-1), and their chain nodes in the configuration file (`rpc.networks`). */
import type { ProviderTimeouts } from '../providerSettings.ts';

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

export interface RpcEndpoint {
  /** `{key}` in it stands for the secret; many services want theirs in the path. */
  url: string;
  /** Environment variable with the secret: goes in place of `{key}`, else as a bearer token. */
  apiKeyEnv?: string;
  /** Share of the calls beside the other endpoints; 1 when left out. */
  weight?: number;
}

export interface RpcNetworkSettings {
  /** A plain URL has the network's key and the weight 1. */
  endpoints: readonly (string | RpcEndpoint)[];
  apiKeyEnv?: string;
  allowPrivateNetwork?: boolean;
  timeouts?: Partial<ProviderTimeouts>;
}

export interface RpcSettings {
  /** By slug. */
  networks: Readonly<Record<string, RpcNetworkSettings>>;
}
