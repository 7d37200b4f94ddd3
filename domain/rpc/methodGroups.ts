/** Methods that the proxy admits, grouped by source, with their tiers and networks (RPC-2). */
import type { RpcChain } from './networks.ts';

export type RpcTier = 'standard' | 'advanced' | 'large';

/** Methods with one tier and one set of chains. */
export interface MethodGroup {
  tier: RpcTier;
  /** Left out: every chain of the family. */
  chains?: readonly RpcChain[];
  /** Left out: every network of those chains. */
  networks?: readonly string[];
  /** Submits something that must not be submitted twice. */
  writes?: boolean;
  methods: readonly string[];
}

/** Splits a text into names at white space. */
export function namesIn(text: string): string[] {
  return text.trim().split(/\s+/);
}

/** ethereum/execution-apis, `eth` without filters, keys and mining, plus old methods of geth and Erigon. */
const ETH = namesIn(`
  eth_blobBaseFee eth_blockNumber eth_call eth_chainId eth_config eth_createAccessList eth_estimateGas
  eth_feeHistory eth_gasPrice eth_getBalance eth_getBlockByHash eth_getBlockByNumber eth_getBlockReceipts
  eth_getBlockTransactionCountByHash eth_getBlockTransactionCountByNumber eth_getCode eth_getLogs
  eth_getProof eth_getStorageAt eth_getTransactionByBlockHashAndIndex
  eth_getTransactionByBlockNumberAndIndex eth_getTransactionByHash eth_getTransactionCount
  eth_getTransactionReceipt eth_getUncleByBlockHashAndIndex eth_getUncleByBlockNumberAndIndex
  eth_getUncleCountByBlockHash eth_getUncleCountByBlockNumber eth_maxPriorityFeePerGas eth_protocolVersion
  eth_simulateV1 eth_syncing net_listening net_peerCount net_version web3_clientVersion web3_sha3
`);

/** ERC-7769 (bundlers of ERC-4337) and the additions of Pimlico. */
const BUNDLER = namesIn(`
  eth_estimateUserOperationGas eth_getUserOperationByHash eth_getUserOperationReceipt
  eth_supportedEntryPoints pimlico_getUserOperationGasPrice pimlico_getUserOperationStatus
`);

/** docs.zksync.io and matter-labs/zksync-era, core/lib/web3_decl/src/namespaces/zks.rs, with its older methods. */
const ZKSYNC = namesIn(`
  zks_L1BatchNumber zks_L1ChainId zks_estimateFee zks_estimateGasL1ToL2 zks_getAllAccountBalances
  zks_getBaseTokenL1Address zks_getBatchFeeInput zks_getBlockDetails zks_getBridgeContracts
  zks_getBridgehubContract zks_getBytecodeByHash zks_getConfirmedTokens zks_getFeeParams
  zks_getL1BatchBlockRange zks_getL1BatchDetails zks_getL1GasPrice zks_getL2ToL1LogProof
  zks_getL2ToL1MsgProof zks_getMainContract zks_getProof zks_getProtocolVersion zks_getRawBlockTransactions
  zks_getL2DAValidator zks_getL2Multicall3 zks_getTestnetPaymaster zks_getTimestampAsserter
  zks_getTransactionDetails
`);

/** docs.linea.build, Linea methods. */
const LINEA = namesIn(`
  linea_estimateGas linea_getProof linea_getTransactionExclusionStatusV1
`);

/**
 * docs.polygon.technology and bor's `consensus/bor/api.go`. `bor_getVoteOnHash` is excluded because it writes: it locks
 * the node to a milestone of the caller (`eth/bor_api_backend.go`).
 */
const BOR = namesIn(`
  bor_getAuthor bor_getCurrentProposer bor_getCurrentValidators bor_getRootHash bor_getSigners
  bor_getSignersAtHash bor_getSnapshot bor_getSnapshotAtHash bor_getSnapshotProposer
  bor_getSnapshotProposerSequence
`);

/** The whole advanced tier (RPC-2); `arbtrace_` is the spelling of `trace_` on Arbitrum. */
const TRACES = namesIn(`
  trace_block trace_call trace_callMany trace_filter trace_transaction trace_rawTransaction debug_traceBlock
  debug_traceBlockByHash debug_traceBlockByNumber debug_traceCall debug_traceTransaction
  debug_storageRangeAt txpool_inspect txpool_status
`);
const ARBITRUM_TRACES = namesIn(`
  arbtrace_block arbtrace_call arbtrace_callMany arbtrace_filter arbtrace_transaction
`);

export const EVM_METHODS: readonly MethodGroup[] = [
  { tier: 'standard', methods: ETH },
  { tier: 'standard', writes: true, methods: ['eth_sendRawTransaction'] },
  { tier: 'standard', methods: BUNDLER },
  { tier: 'standard', writes: true, methods: ['eth_sendUserOperation'] },
  { tier: 'standard', chains: ['zksync'], methods: ZKSYNC },
  {
    tier: 'standard',
    chains: ['zksync'],
    writes: true,
    methods: ['zks_sendRawTransactionWithDetailedOutput'],
  },
  { tier: 'standard', chains: ['linea'], methods: LINEA },
  { tier: 'standard', chains: ['polygon'], methods: BOR },
  { tier: 'advanced', methods: TRACES },
  { tier: 'advanced', chains: ['arbitrum'], methods: ARBITRUM_TRACES },
  {
    tier: 'large',
    methods: ['trace_replayBlockTransactions', 'trace_replayTransaction', 'txpool_content'],
  },
  {
    tier: 'large',
    chains: ['arbitrum'],
    methods: ['arbtrace_replayBlockTransactions', 'arbtrace_replayTransaction'],
  },
];

/**
 * Methods of solana.com/docs/rpc/http, without the ones that it marks as removed (`getConfirmed…`) and without
 * `getAsset…` of other services (RPC-4).
 */
const SOLANA_READS = namesIn(`
  getAccountInfo getBalance getBlock getBlockCommitment getBlockHeight getBlockProduction getBlockTime
  getBlocks getBlocksWithLimit getClusterNodes getEpochInfo getEpochSchedule getFeeForMessage
  getFirstAvailableBlock getGenesisHash getHealth getHighestSnapshotSlot getIdentity getInflationGovernor
  getInflationRate getInflationReward getLatestBlockhash getLeaderSchedule getMaxRetransmitSlot
  getMaxShredInsertSlot getMinimumBalanceForRentExemption getMultipleAccounts getProgramAccounts
  getRecentPerformanceSamples getRecentPrioritizationFees getSignatureStatuses getSignaturesForAddress
  getSlot getSlotLeader getSlotLeaders getStakeMinimumDelegation getTokenAccountBalance
  getTokenAccountsByDelegate getTokenAccountsByOwner getTokenLargestAccounts getTokenSupply getTransaction
  getTransactionCount getVersion getVoteAccounts isBlockhashValid minimumLedgerSlot simulateTransaction
`);

export const SOLANA_METHODS: readonly MethodGroup[] = [
  { tier: 'standard', methods: SOLANA_READS },
  { tier: 'standard', writes: true, methods: ['sendTransaction'] },
  // Mainnet has no faucet.
  { tier: 'standard', networks: ['solana-devnet'], writes: true, methods: ['requestAirdrop'] },
  { tier: 'large', methods: ['getLargestAccounts', 'getSupply'] },
];

/**
 * starkware-libs/starknet-specs 0.10.4, complete: starknet_api_openrpc.json, starknet_executables.json,
 * starknet_trace_api_openrpc.json and starknet_write_api.json. All are in the standard tier, even traces (RPC-2).
 */
const STARKNET_READS = namesIn(`
  starknet_blockHashAndNumber starknet_blockNumber starknet_call starknet_chainId starknet_estimateFee
  starknet_estimateMessageFee starknet_getBlockTransactionCount starknet_getBlockWithReceipts
  starknet_getBlockWithTxHashes starknet_getBlockWithTxs starknet_getClass starknet_getClassAt
  starknet_getClassHashAt starknet_getCompiledCasm starknet_getEvents starknet_getMessagesStatus
  starknet_getNonce starknet_getStateUpdate starknet_getStorageAt starknet_getStorageProof
  starknet_getTransactionByBlockIdAndIndex starknet_getTransactionByHash starknet_getTransactionReceipt
  starknet_getTransactionStatus starknet_specVersion starknet_syncing starknet_simulateTransactions
  starknet_traceBlockTransactions starknet_traceTransaction
`);
const STARKNET_WRITES = namesIn(`
  starknet_addDeclareTransaction starknet_addDeployAccountTransaction starknet_addInvokeTransaction
`);

export const STARKNET_METHODS: readonly MethodGroup[] = [
  { tier: 'standard', methods: STARKNET_READS },
  { tier: 'standard', writes: true, methods: STARKNET_WRITES },
];
