/** The chain nodes of the configuration file: networks that are sold, and keys for the places that wait for one. */
import { RPC_NETWORKS } from '../../domain/rpc/networks.ts';
import { problem } from './problems.ts';
import type { ConfigurationFile } from './schema/file.ts';

type Networks = ConfigurationFile['rpc']['networks'];

/** Lines of the form `path: found …, allowed: …`; never with a URL, which may carry a secret. */
export function checkRpcNetworks(networks: Networks): string[] {
  return Object.entries(networks).flatMap(([slug, network]) => {
    const path = ['rpc', 'networks', slug];
    if (!RPC_NETWORKS.has(slug)) {
      return [problem(path, 'an unknown network', `one of ${[...RPC_NETWORKS.keys()].join(', ')}`)];
    }
    return network.endpoints.flatMap((endpoint, index) => {
      const { url, apiKeyEnv = network.apiKeyEnv } =
        typeof endpoint === 'string' ? { url: endpoint } : endpoint;
      if (!/\{key\}|%7Bkey%7D/i.test(url) || apiKeyEnv !== undefined) return [];
      const found = 'a URL with {key} and no apiKeyEnv';
      return [problem([...path, 'endpoints', index], found, 'apiKeyEnv beside it, or no {key} in it')];
    });
  });
}
