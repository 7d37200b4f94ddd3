/**
 * Networks and methods of the JSON-RPC proxy (RPC-1, RPC-2), copied by hand from ethereum/execution-apis, ERC-7769,
 * docs.zksync.io, docs.linea.build, docs.polygon.technology, starknet-specs and solana.com/docs/rpc/http. This table is
 * neither generated nor a source of code.
 */

export const NETWORKS = [
  { slug: 'arbitrum-mainnet', family: 'evm', base: 20 },
  { slug: 'arbitrum-sepolia', family: 'evm', base: 20 },
  { slug: 'avalanche-fuji', family: 'evm', base: 20 },
  { slug: 'avalanche-mainnet', family: 'evm', base: 20 },
  { slug: 'base-mainnet', family: 'evm', base: 20 },
  { slug: 'base-sepolia', family: 'evm', base: 20 },
  { slug: 'blast-mainnet', family: 'evm', base: 20 },
  { slug: 'blast-sepolia', family: 'evm', base: 20 },
  { slug: 'bsc-mainnet', family: 'evm', base: 20 },
  { slug: 'bsc-testnet', family: 'evm', base: 20 },
  { slug: 'ethereum-holesky', family: 'evm', base: 20 },
  { slug: 'ethereum-mainnet', family: 'evm', base: 20 },
  { slug: 'ethereum-sepolia', family: 'evm', base: 20 },
  { slug: 'linea-mainnet', family: 'evm', base: 20 },
  { slug: 'linea-sepolia', family: 'evm', base: 20 },
  { slug: 'optimism-mainnet', family: 'evm', base: 20 },
  { slug: 'optimism-sepolia', family: 'evm', base: 20 },
  { slug: 'polygon-amoy', family: 'evm', base: 20 },
  { slug: 'polygon-mainnet', family: 'evm', base: 20 },
  { slug: 'robinhood-mainnet', family: 'evm', base: 20 },
  { slug: 'robinhood-testnet', family: 'evm', base: 20 },
  { slug: 'solana-devnet', family: 'solana', base: 30 },
  { slug: 'solana-mainnet', family: 'solana', base: 30 },
  { slug: 'starknet-mainnet', family: 'starknet', base: 20 },
  { slug: 'starknet-sepolia', family: 'starknet', base: 20 },
  { slug: 'zksync-mainnet', family: 'evm', base: 30 },
  { slug: 'zksync-sepolia', family: 'evm', base: 30 },
] as const;

interface Admitted {
  of: 'evm' | 'starknet' | 'solana';
  /** Multiplier of the tier. */
  times: 1 | 2 | 4;
  /** Prefixes of the slugs that have it; undefined: the whole family. */
  only?: readonly string[];
  names: readonly string[];
}

const words = (text: string) => text.trim().split(/\s+/);

export const ADMITTED: readonly Admitted[] = [
  {
    ...{ of: 'evm', times: 1 },
    names: words(`
      eth_call eth_getBalance eth_blockNumber eth_sendRawTransaction eth_getLogs eth_getTransactionReceipt
      eth_estimateGas net_version web3_clientVersion eth_sendUserOperation eth_estimateUserOperationGas
      eth_chainId eth_feeHistory eth_getBlockReceipts eth_getProof eth_simulateV1 net_listening net_peerCount
      web3_sha3 eth_getUserOperationByHash eth_getUserOperationReceipt eth_supportedEntryPoints
      pimlico_getUserOperationGasPrice pimlico_getUserOperationStatus
      eth_blobBaseFee eth_config eth_createAccessList eth_gasPrice eth_getBlockByHash eth_getBlockByNumber
      eth_getBlockTransactionCountByHash eth_getBlockTransactionCountByNumber eth_getCode eth_getStorageAt
      eth_getTransactionByBlockHashAndIndex eth_getTransactionByBlockNumberAndIndex eth_getTransactionByHash
      eth_getTransactionCount eth_getUncleByBlockHashAndIndex eth_getUncleByBlockNumberAndIndex
      eth_getUncleCountByBlockHash eth_getUncleCountByBlockNumber eth_maxPriorityFeePerGas eth_protocolVersion
      eth_syncing`),
  },
  {
    ...{ of: 'evm', times: 1, only: ['zksync-'] },
    names: words(`
      zks_L1BatchNumber zks_L1ChainId zks_estimateFee zks_estimateGasL1ToL2 zks_getAllAccountBalances
      zks_getBaseTokenL1Address zks_getBatchFeeInput zks_getBlockDetails zks_getBridgeContracts
      zks_getBridgehubContract zks_getBytecodeByHash zks_getConfirmedTokens zks_getFeeParams
      zks_getL1BatchBlockRange zks_getL1BatchDetails zks_getL1GasPrice zks_getL2ToL1LogProof
      zks_getL2ToL1MsgProof zks_getMainContract zks_getProof zks_getProtocolVersion zks_getRawBlockTransactions
      zks_getTestnetPaymaster zks_getTransactionDetails zks_getL2DAValidator zks_getL2Multicall3
      zks_getTimestampAsserter zks_sendRawTransactionWithDetailedOutput`),
  },
  {
    ...{ of: 'evm', times: 1, only: ['linea-'] },
    names: words('linea_estimateGas linea_getProof linea_getTransactionExclusionStatusV1'),
  },
  {
    ...{ of: 'evm', times: 1, only: ['polygon-'] },
    names: words(`
      bor_getAuthor bor_getCurrentProposer bor_getCurrentValidators bor_getRootHash bor_getSigners
      bor_getSignersAtHash bor_getSnapshot bor_getSnapshotAtHash bor_getSnapshotProposer
      bor_getSnapshotProposerSequence`),
  },
  {
    ...{ of: 'evm', times: 2 },
    names: words(`
      trace_block trace_call trace_callMany trace_filter trace_transaction trace_rawTransaction debug_traceBlock
      debug_traceBlockByHash debug_traceBlockByNumber debug_traceCall debug_traceTransaction debug_storageRangeAt
      txpool_inspect txpool_status`),
  },
  {
    ...{ of: 'evm', times: 2, only: ['arbitrum-'] },
    names: words('arbtrace_block arbtrace_call arbtrace_callMany arbtrace_filter arbtrace_transaction'),
  },
  {
    ...{ of: 'evm', times: 4 },
    names: words('trace_replayBlockTransactions trace_replayTransaction txpool_content'),
  },
  {
    ...{ of: 'evm', times: 4, only: ['arbitrum-'] },
    names: words('arbtrace_replayBlockTransactions arbtrace_replayTransaction'),
  },
  {
    ...{ of: 'starknet', times: 1 },
    names: words(`
      starknet_specVersion starknet_getBlockWithTxHashes starknet_getBlockWithTxs starknet_getBlockWithReceipts
      starknet_getStateUpdate starknet_getStorageAt starknet_getTransactionStatus starknet_getMessagesStatus
      starknet_getTransactionByHash starknet_getTransactionByBlockIdAndIndex starknet_getTransactionReceipt
      starknet_getClass starknet_getClassHashAt starknet_getClassAt starknet_getBlockTransactionCount
      starknet_call starknet_estimateFee starknet_estimateMessageFee starknet_blockNumber
      starknet_blockHashAndNumber starknet_chainId starknet_syncing starknet_getEvents starknet_getNonce
      starknet_getStorageProof starknet_getCompiledCasm starknet_addInvokeTransaction
      starknet_addDeclareTransaction starknet_addDeployAccountTransaction starknet_traceTransaction
      starknet_simulateTransactions starknet_traceBlockTransactions`),
  },
  {
    ...{ of: 'solana', times: 1 },
    names: words(`
      getAccountInfo getBalance getLatestBlockhash getProgramAccounts sendTransaction simulateTransaction
      getBlock getBlockCommitment getBlockHeight getBlockProduction getBlockTime getBlocks getBlocksWithLimit
      getClusterNodes getEpochInfo getEpochSchedule getFeeForMessage getFirstAvailableBlock getGenesisHash
      getHealth getHighestSnapshotSlot getIdentity getInflationGovernor getInflationRate getInflationReward
      getLeaderSchedule getMaxRetransmitSlot getMaxShredInsertSlot getMinimumBalanceForRentExemption
      getMultipleAccounts getRecentPerformanceSamples getRecentPrioritizationFees getSignatureStatuses
      getSignaturesForAddress getSlot getSlotLeader getSlotLeaders getStakeMinimumDelegation
      getTokenAccountBalance getTokenAccountsByDelegate getTokenAccountsByOwner getTokenLargestAccounts
      getTokenSupply getTransaction getTransactionCount getVersion getVoteAccounts isBlockhashValid
      minimumLedgerSlot`),
  },
  { of: 'solana', times: 1, only: ['solana-devnet'], names: ['requestAirdrop'] },
  { of: 'solana', times: 4, names: words('getLargestAccounts getSupply') },
];

/** Methods that must not run twice. */
export const WRITES: readonly string[] = words(`
  eth_sendRawTransaction eth_sendUserOperation zks_sendRawTransactionWithDetailedOutput sendTransaction
  requestAirdrop starknet_addInvokeTransaction starknet_addDeclareTransaction
  starknet_addDeployAccountTransaction`);

/** Methods refused on all networks, by reason (RPC-4). */
export const REFUSED: Readonly<Record<string, readonly string[]>> = {
  websocket: words(`
    eth_subscribe eth_unsubscribe accountSubscribe accountUnsubscribe blockSubscribe blockUnsubscribe
    logsSubscribe logsUnsubscribe programSubscribe programUnsubscribe rootSubscribe rootUnsubscribe
    signatureSubscribe signatureUnsubscribe slotSubscribe slotUnsubscribe slotsUpdatesSubscribe
    slotsUpdatesUnsubscribe voteSubscribe voteUnsubscribe starknet_subscribeNewHeads starknet_subscribeEvents
    starknet_subscribeTransactionStatus starknet_subscribePendingTransactions
    starknet_subscribeNewTransactionReceipts starknet_subscribeNewTransactions starknet_unsubscribe`),
  filter: words(`
    eth_newFilter eth_getFilterChanges eth_getFilterLogs eth_uninstallFilter eth_newBlockFilter
    eth_newPendingTransactionFilter`),
  keys: words('eth_sign eth_accounts eth_mining eth_hashrate eth_getWork eth_submitWork eth_sendTransaction'),
  unknown: words(`
    getAsset getAssetsByOwner getAssetProof getConfirmedBlock getConfirmedTransaction
    getConfirmedSignaturesForAddress2 admin_peers debug_setHead miner_start personal_unlockAccount
    anvil_setBalance hardhat_impersonateAccount evm_mine engine_newPayloadV4 txpool_contentFrom
    eth_sendRawTransactionSync bor_getVoteOnHash toString __proto__ constructor`),
};
