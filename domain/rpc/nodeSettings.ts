/** Chain nodes of the configuration file (`rpc.networks`). */
import type { ProviderTimeouts } from '../providerSettings.ts';

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
