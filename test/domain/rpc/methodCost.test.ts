/** Calls whose duration the client chooses: a late answer to them says nothing about the node. */
import { expect, it } from 'vitest';
import { costIsChosen, isHeavy } from '../../../domain/rpc/methodCost.ts';
import { methodsOf } from '../../../domain/rpc/methods.ts';
import { RPC_NETWORKS } from '../../../domain/rpc/networks.ts';

const ALL = new Set([...RPC_NETWORKS.values()].flatMap((network) => [...methodsOf(network).keys()]));

it.each([
  ...['eth_call', 'eth_estimateGas', 'eth_createAccessList', 'eth_feeHistory', 'eth_sendRawTransaction'],
  ...['simulateTransaction', 'getMultipleAccounts', 'getTokenAccountsByOwner', 'getSignaturesForAddress'],
  ...['starknet_call', 'starknet_estimateFee', 'starknet_getClass', 'zks_estimateFee', 'linea_getProof'],
  ...['eth_estimateUserOperationGas', 'bor_getRootHash'],
])('lets the client choose the duration of %s', (method) => {
  expect(ALL.has(method)).toBe(true);
  expect(costIsChosen(method)).toBe(true);
});

it('includes all heavy methods', () => {
  expect([...ALL].filter((method) => isHeavy(method) && !costIsChosen(method))).toEqual([]);
});

it.each([
  // Methods of the health checks.
  ...['eth_blockNumber', 'eth_getBlockByNumber', 'starknet_blockNumber', 'starknet_chainId'],
  ...['getSlot', 'getGenesisHash'],
  ...['eth_getBalance', 'eth_getTransactionCount', 'eth_getTransactionReceipt', 'eth_gasPrice'],
  ...['getBalance', 'getLatestBlockhash', 'starknet_getNonce', 'starknet_getStorageAt'],
])('does not let the client choose the duration of %s', (method) => {
  expect(ALL.has(method)).toBe(true);
  expect(costIsChosen(method)).toBe(false);
});
