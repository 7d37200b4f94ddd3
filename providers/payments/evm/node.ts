/** What nodes of EVM chains say in their own way: reverts, numbers and bytes. */
import { NodeRefused, NodeSilent } from '../nodes/rpcNode.ts';

export type { RpcNode as ChainNode } from '../nodes/rpcNode.ts';
export { NodeRefused, NodeSilent };

/** The node's answer to a call is that the chain refuses it. */
export class CallReverted extends Error {}

/** 3 is what nodes answer where the revert has data; without it some say only in words what happened. */
export function withReverts(refused: NodeRefused): Error {
  const { code, message } = refused;
  const reverted = code === 3 || /revert|out ?of ?gas|gas required exceeds|invalid opcode/i.test(message);
  return reverted ? new CallReverted(message) : refused;
}

/** A number as nodes write it. Throws NodeSilent for anything else. */
export function quantity(value: unknown): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(value)) throw new NodeSilent('no number');
  return BigInt(value);
}

/** Bytes as nodes write them, in lower case. Throws NodeSilent for anything else. */
export function bytes(value: unknown): `0x${string}` {
  if (typeof value !== 'string' || !/^0x([0-9a-fA-F]{2})*$/.test(value)) throw new NodeSilent('no bytes');
  return `0x${value.slice(2).toLowerCase()}`;
}
