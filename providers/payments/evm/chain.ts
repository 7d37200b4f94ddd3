/** Nodes of an EVM chain, with its encoding of reverts, numbers and bytes. */

import type { Hex } from 'viem';
import type { PaymentNetworkSettings } from '../../../domain/payments/networkSettings.ts';
import { type ChainNode, type NodeRefused, NodeSilent } from '../nodes/chainNode.ts';
import { createRpcNodes, type RpcNodes } from '../nodes/rpcNodes.ts';

export interface ChainSettings extends Pick<PaymentNetworkSettings, 'network' | 'rpcUrls' | 'allowPrivateNetwork'> {
  /** Time limit of one call, head and body. */
  callTimeoutMs?: number;
  /** Further check of a node before it is trusted; throws NodeSilent. */
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

/** The chain reverts the call. */
export class CallReverted extends Error {}

/** Code 3 marks a revert with data. Without data some nodes describe the revert only in the message. */
function withReverts(refused: NodeRefused): Error {
  const { code, message } = refused;
  const reverted = code === 3 || /revert|out ?of ?gas|gas required exceeds|invalid opcode/i.test(message);
  return reverted ? new CallReverted(message) : refused;
}

/** Parses a hexadecimal number. Throws NodeSilent for anything else. */
export function quantity(value: unknown): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(value)) throw new NodeSilent('no number');
  return BigInt(value);
}

/** Checks hexadecimal bytes and returns them in lower case. Throws NodeSilent for anything else. */
export function bytes(value: unknown): Hex {
  if (typeof value !== 'string' || !/^0x([0-9a-fA-F]{2})*$/.test(value)) throw new NodeSilent('no bytes');
  return `0x${value.slice(2).toLowerCase()}`;
}
