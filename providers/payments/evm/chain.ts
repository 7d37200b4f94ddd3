/** The nodes of an EVM chain as one voice. */
import type { PaymentNetworkSettings } from '../../../domain/payments/networkSettings.ts';
import { createRpcNodes, type RpcNodes } from '../nodes/rpcNodes.ts';
import { type ChainNode, NodeSilent, quantity, withReverts } from './node.ts';

export interface ChainSettings
  extends Pick<PaymentNetworkSettings, 'network' | 'rpcUrls' | 'allowPrivateNetwork'> {
  /** Of one call, head and body. */
  callTimeoutMs?: number;
  /** What a node must show beside its chain before it is believed; throws NodeSilent. */
  prove?: ((node: ChainNode) => Promise<void>) | undefined;
}

export interface Chain extends RpcNodes {
  readonly chainId: bigint;
}

export function createChain({ network, rpcUrls, prove, ...settings }: ChainSettings): Chain {
  const chainId = chainIdOf(network);
  const nodes = createRpcNodes({
    ...{ network, urls: rpcUrls, refine: withReverts },
    ...settings,
    async prove(node) {
      const shown = quantity(await node.call('eth_chainId', []));
      if (shown !== chainId) throw new NodeSilent(`it is on chain ${shown}`);
      await prove?.(node);
    },
  });
  return { chainId, ...nodes };
}

export function chainIdOf(network: string): bigint {
  return BigInt(network.slice(network.indexOf(':') + 1));
}
