/**
 * Methods of solana.com/docs/rpc/http, without those that it calls removed (`getConfirmed…`) and without the
 * `getAsset…` of other services (RPC-4).
 */
import type { MethodGroup } from './methodGroup.ts';

const HTTP_METHODS = [
  ...['getAccountInfo', 'getBalance', 'getBlock', 'getBlockCommitment', 'getBlockHeight'],
  ...['getBlockProduction', 'getBlockTime', 'getBlocks', 'getBlocksWithLimit', 'getClusterNodes'],
  ...['getEpochInfo', 'getEpochSchedule', 'getFeeForMessage', 'getFirstAvailableBlock', 'getGenesisHash'],
  ...['getHealth', 'getHighestSnapshotSlot', 'getIdentity', 'getInflationGovernor', 'getInflationRate'],
  ...['getInflationReward', 'getLatestBlockhash', 'getLeaderSchedule', 'getMaxRetransmitSlot'],
  ...['getMaxShredInsertSlot', 'getMinimumBalanceForRentExemption', 'getMultipleAccounts'],
  ...['getProgramAccounts', 'getRecentPerformanceSamples', 'getRecentPrioritizationFees'],
  ...['getSignatureStatuses', 'getSignaturesForAddress', 'getSlot', 'getSlotLeader', 'getSlotLeaders'],
  ...['getStakeMinimumDelegation', 'getTokenAccountBalance', 'getTokenAccountsByDelegate'],
  ...['getTokenAccountsByOwner', 'getTokenLargestAccounts', 'getTokenSupply', 'getTransaction'],
  ...['getTransactionCount', 'getVersion', 'getVoteAccounts', 'isBlockhashValid', 'minimumLedgerSlot'],
  'simulateTransaction',
];

export const SOLANA_METHODS: readonly MethodGroup[] = [
  { tier: 'standard', methods: HTTP_METHODS },
  { tier: 'standard', writes: true, methods: ['sendTransaction'] },
  // Mainnet has no faucet.
  { tier: 'standard', networks: ['solana-devnet'], writes: true, methods: ['requestAirdrop'] },
  { tier: 'large', methods: ['getLargestAccounts', 'getSupply'] },
];
