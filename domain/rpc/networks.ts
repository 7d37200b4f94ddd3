/** Networks of the JSON-RPC proxy (RPC-1), and their chain nodes in the configuration file (`rpc.networks`). */
import type { ProviderTimeouts } from '../providerSettings.ts';

export type RpcFamily = 'evm' | 'starknet' | 'solana';

/** Name of a chain without mainnet or testnet: method extensions belong to chains. */
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

/** All networks by slug, in alphabetical order. */
export const RPC_NETWORKS: ReadonlyMap<string, RpcNetwork> = new Map(
  CHAINS.flatMap(([chain, family, baseCredits, places]) =>
    places.map((place): [string, RpcNetwork] => {
      const slug = `${chain}-${place}`;
      return [slug, { slug, family, chain, baseCredits }];
    }),
  ),
);

export interface RpcEndpoint {
  /** `{key}` is replaced by the secret; many services expect it in the path. */
  url: string;
  /** Environment variable with the secret, which is sent as a bearer token when the URL has no `{key}`. */
  apiKeyEnv?: string;
  /** Share of the calls relative to the other endpoints; default 1. */
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
