/**
 * starkware-libs/starknet-specs 0.10.4, all of it: starknet_api_openrpc.json, starknet_executables.json,
 * starknet_trace_api_openrpc.json and starknet_write_api.json.
 */
import type { MethodGroup } from './methodGroup.ts';

const READS = [
  ...['starknet_blockHashAndNumber', 'starknet_blockNumber', 'starknet_call', 'starknet_chainId'],
  ...['starknet_estimateFee', 'starknet_estimateMessageFee', 'starknet_getBlockTransactionCount'],
  ...['starknet_getBlockWithReceipts', 'starknet_getBlockWithTxHashes', 'starknet_getBlockWithTxs'],
  ...['starknet_getClass', 'starknet_getClassAt', 'starknet_getClassHashAt', 'starknet_getCompiledCasm'],
  ...['starknet_getEvents', 'starknet_getMessagesStatus', 'starknet_getNonce', 'starknet_getStateUpdate'],
  ...['starknet_getStorageAt', 'starknet_getStorageProof', 'starknet_getTransactionByBlockIdAndIndex'],
  ...['starknet_getTransactionByHash', 'starknet_getTransactionReceipt', 'starknet_getTransactionStatus'],
  ...['starknet_specVersion', 'starknet_syncing'],
];
const TRACES = [
  ...['starknet_simulateTransactions', 'starknet_traceBlockTransactions', 'starknet_traceTransaction'],
];
const WRITES = [
  ...['starknet_addDeclareTransaction', 'starknet_addDeployAccountTransaction'],
  'starknet_addInvokeTransaction',
];

/** Methods of Starknet, traces included: all are in the standard tier (RPC-2). */
export const STARKNET_METHODS: readonly MethodGroup[] = [
  { tier: 'standard', methods: READS },
  { tier: 'standard', methods: TRACES },
  { tier: 'standard', writes: true, methods: WRITES },
];
