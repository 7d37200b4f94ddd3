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

/** What runs the code of a client, or of contracts and programs of his choosing; of a family all, whatever it is called. */
const RUNS_CODE = [
  ...['eth_call', 'eth_createAccessList', 'eth_estimate', 'eth_send', 'eth_simulate'],
  ...['debug_', 'trace_', 'arbtrace_', 'zks_', 'linea_', 'pimlico_'],
  ...['simulate', 'send'],
  ...['starknet_add', 'starknet_call', 'starknet_estimate', 'starknet_simulate'],
];

export function runsCode(method: string): boolean {
  return RUNS_CODE.some((family) => method.startsWith(family));
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
