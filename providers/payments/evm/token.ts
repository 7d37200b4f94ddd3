/** Calls and events of the token: EIP-3009 as in USDC 2.2, with both forms of the signature. */
import { decodeFunctionResult, encodeFunctionData, type Hex, parseAbi, parseSignature, toEventSelector } from 'viem';
import { type ChainNode, NodeSilent } from '../nodes/chainNode.ts';
import { bytes } from './chain.ts';

/** Signed fields; addresses in lower case, numbers decimal. */
export interface Authorization {
  from: Hex;
  to: Hex;
  value: string;
  /** Unix seconds. */
  validAfter: string;
  validBefore: string;
  nonce: Hex;
}

export interface SignedAuthorization {
  authorization: Authorization;
  signature: Hex;
}

const ABI = parseAbi([
  'function decimals() view returns (uint8)',
  'function balanceOf(address) view returns (uint256)',
  'function authorizationState(address, bytes32) view returns (bool)',
]);
const BY_PARTS = parseAbi([
  'function transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
]);
const BY_BYTES = parseAbi([
  'function transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
]);

export const TRANSFER_EVENT = toEventSelector('Transfer(address,address,uint256)');
export const USED_EVENT = toEventSelector('AuthorizationUsed(address,bytes32)');
export const CANCELED_EVENT = toEventSelector('AuthorizationCanceled(address,bytes32)');

/** Encodes an address as an event topic. */
export function asTopic(address: string): string {
  return `0x${address.slice(2).padStart(64, '0')}`;
}

export const TRANSFER_TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

/** Encodes the transfer call. `byContract`: the payer is a contract, which alone can check its signature. */
export function transferCall({ authorization, signature }: SignedAuthorization, byContract: boolean): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const terms = [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce] as const;
  if (byContract) return encodeFunctionData({ abi: BY_BYTES, args: [...terms, signature] });
  const { r, s, yParity } = parseSignature(signature);
  return encodeFunctionData({ abi: BY_PARTS, args: [...terms, 27 + yParity, r, s] });
}

export async function isAuthorizationUsed(
  node: ChainNode,
  token: Hex,
  { block, from, nonce }: { block: string; from: Hex; nonce: Hex },
): Promise<boolean> {
  const data = encodeFunctionData({ abi: ABI, functionName: 'authorizationState', args: [from, nonce] });
  const answer = bytes(await node.call('eth_call', [{ to: token, data }, block]));
  return read(() => decodeFunctionResult({ abi: ABI, functionName: 'authorizationState', data: answer }));
}

export async function balanceOf(node: ChainNode, token: Hex, owner: Hex): Promise<bigint> {
  const data = encodeFunctionData({ abi: ABI, functionName: 'balanceOf', args: [owner] });
  const answer = bytes(await node.call('eth_call', [{ to: token, data }, 'latest']));
  return read(() => decodeFunctionResult({ abi: ABI, functionName: 'balanceOf', data: answer }));
}

export async function decimalsOf(node: ChainNode, token: Hex): Promise<number> {
  const data = encodeFunctionData({ abi: ABI, functionName: 'decimals' });
  const answer = bytes(await node.call('eth_call', [{ to: token, data }, 'latest']));
  return read(() => decodeFunctionResult({ abi: ABI, functionName: 'decimals', data: answer }));
}

function read<T>(decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    throw new NodeSilent('not an answer of the token', { cause });
  }
}
