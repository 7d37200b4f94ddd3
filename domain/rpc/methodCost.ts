/** Which calls make a node work for long, or answer with much: they are sent alone and given more time. */

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
]);

const HEAVY_FAMILIES =
  /^(?:debug|trace|arbtrace|txpool)_|^zks_get(?:L1BatchDetails|RawBlockTransactions|Proof)$/;

export function isHeavy(method: string): boolean {
  return HEAVY.has(method) || HEAVY_FAMILIES.test(method);
}
