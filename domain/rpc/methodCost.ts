/** Which calls make a node work for long, or answer with much: they are sent alone and given more time. */
import type { CallMethod, RpcCalls } from './rpcCalls.ts';

const HEAVY = new Set([
  'eth_getLogs',
  'eth_getBlockReceipts',
  'eth_simulateV1',
  'eth_getProof',
  'getProgramAccounts',
  'getLargestAccounts',
  'getSupply',
  'getBlock',
  'getBlocks',
  'getLeaderSchedule',
  'getClusterNodes',
  'getVoteAccounts',
  'getTokenLargestAccounts',
  'starknet_getEvents',
  'starknet_getStateUpdate',
  'starknet_getBlockWithTxs',
  'starknet_getBlockWithReceipts',
  'starknet_traceTransaction',
  'starknet_traceBlockTransactions',
  'starknet_simulateTransactions',
  'starknet_getStorageProof',
  'zks_getL1BatchDetails',
  'zks_getRawBlockTransactions',
  'zks_getProof',
]);

const HEAVY_FAMILIES = ['debug_', 'trace_', 'arbtrace_', 'txpool_'];

export function isHeavy(method: string): boolean {
  return HEAVY.has(method) || HEAVY_FAMILIES.some((family) => method.startsWith(family));
}

/** Of calls, which often have the same method. */
export function anyHeavy(calls: RpcCalls): boolean {
  let light: CallMethod | undefined;
  return calls.some((method) => {
    if (method === light) return false;
    light = method;
    return isHeavy(method.name);
  });
}
