/** Costs of calls for a node: heavy calls take long or answer with much. They are sent alone and have more time. */
import { namesIn } from './methodGroups.ts';
import type { CallMethod, RpcCalls } from './rpcCalls.ts';

const HEAVY = new Set(
  namesIn(`
    eth_getLogs eth_getBlockReceipts eth_simulateV1 eth_getProof getProgramAccounts getLargestAccounts
    getSupply getBlock getBlocks getLeaderSchedule getClusterNodes getVoteAccounts getTokenLargestAccounts
    starknet_getEvents starknet_getStateUpdate starknet_getBlockWithTxs starknet_getBlockWithReceipts
    starknet_traceTransaction starknet_traceBlockTransactions starknet_simulateTransactions
    starknet_getStorageProof zks_getL1BatchDetails zks_getRawBlockTransactions zks_getProof
  `),
);

const HEAVY_FAMILIES = ['debug_', 'trace_', 'arbtrace_', 'txpool_'];

export function isHeavy(method: string): boolean {
  return HEAVY.has(method) || HEAVY_FAMILIES.some((family) => method.startsWith(family));
}

/** Prefixes of methods that run code of the client, or contracts and programs of its choice. */
const RUNS_CODE = namesIn(`
  eth_call eth_createAccessList eth_estimate eth_send eth_simulate debug_ trace_ arbtrace_ zks_ linea_
  pimlico_ simulate send starknet_add starknet_call starknet_estimate starknet_simulate
`);

export function runsCode(method: string): boolean {
  return RUNS_CODE.some((family) => method.startsWith(family));
}

/**
 * Usually light, but the params choose the number of accounts, slots or blocks, or the size. A bundler searches the
 * logs of many blocks for an operation, and Bor recomputes old signers.
 */
const UNBOUNDED = new Set(
  namesIn(`
    eth_feeHistory eth_getUserOperationByHash eth_getUserOperationReceipt bor_getRootHash bor_getSigners
    bor_getSignersAtHash bor_getSnapshot bor_getSnapshotAtHash bor_getSnapshotProposer
    bor_getSnapshotProposerSequence getAccountInfo getBlockProduction getBlocksWithLimit getInflationReward
    getMultipleAccounts getSignatureStatuses getSignaturesForAddress getSlotLeaders
    getTokenAccountsByDelegate getTokenAccountsByOwner getTransaction starknet_getClass starknet_getClassAt
    starknet_getCompiledCasm starknet_getMessagesStatus
  `),
);

/** Whether the client chooses how long a node works: a late answer then says nothing about the node. */
export function costIsChosen(method: string): boolean {
  return isHeavy(method) || runsCode(method) || UNBOUNDED.has(method);
}

export function hasHeavyCall(calls: RpcCalls): boolean {
  return anyOf(calls, isHeavy);
}

export function anyCostIsChosen(calls: RpcCalls): boolean {
  return anyOf(calls, costIsChosen);
}

/** Calls of a batch often have the same method, which is checked once in a row. */
function anyOf(calls: RpcCalls, is: (method: string) => boolean): boolean {
  let other: CallMethod | undefined;
  return calls.some((method) => {
    if (method === other) return false;
    other = method;
    return is(method.name);
  });
}
