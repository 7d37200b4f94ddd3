/** Methods of the EVM chains, by where they are described. */
import type { MethodGroup } from './methodGroup.ts';

/** ethereum/execution-apis, `eth` without filters, keys and mining; those that geth and Erigon have had for years, too. */
const ETH = [
  ...['eth_blobBaseFee', 'eth_blockNumber', 'eth_call', 'eth_chainId', 'eth_config', 'eth_createAccessList'],
  ...['eth_estimateGas', 'eth_feeHistory', 'eth_gasPrice', 'eth_getBalance', 'eth_getBlockByHash'],
  ...['eth_getBlockByNumber', 'eth_getBlockReceipts', 'eth_getBlockTransactionCountByHash'],
  ...['eth_getBlockTransactionCountByNumber', 'eth_getCode', 'eth_getLogs', 'eth_getProof'],
  ...['eth_getStorageAt', 'eth_getTransactionByBlockHashAndIndex'],
  ...['eth_getTransactionByBlockNumberAndIndex', 'eth_getTransactionByHash', 'eth_getTransactionCount'],
  ...['eth_getTransactionReceipt', 'eth_getUncleByBlockHashAndIndex', 'eth_getUncleByBlockNumberAndIndex'],
  ...['eth_getUncleCountByBlockHash', 'eth_getUncleCountByBlockNumber', 'eth_maxPriorityFeePerGas'],
  ...['eth_protocolVersion', 'eth_simulateV1', 'eth_syncing'],
  ...['net_listening', 'net_peerCount', 'net_version', 'web3_clientVersion', 'web3_sha3'],
];

/** ERC-7769 (bundlers of ERC-4337) and what Pimlico adds to it. */
const BUNDLER = [
  ...['eth_estimateUserOperationGas', 'eth_getUserOperationByHash', 'eth_getUserOperationReceipt'],
  ...['eth_supportedEntryPoints', 'pimlico_getUserOperationGasPrice', 'pimlico_getUserOperationStatus'],
];

/** docs.zksync.io and matter-labs/zksync-era, core/lib/web3_decl/src/namespaces/zks.rs, with the older ones of the latter. */
const ZKSYNC = [
  ...['zks_L1BatchNumber', 'zks_L1ChainId', 'zks_estimateFee', 'zks_estimateGasL1ToL2'],
  ...['zks_getAllAccountBalances', 'zks_getBaseTokenL1Address', 'zks_getBatchFeeInput'],
  ...['zks_getBlockDetails', 'zks_getBridgeContracts', 'zks_getBridgehubContract'],
  ...['zks_getBytecodeByHash', 'zks_getConfirmedTokens', 'zks_getFeeParams', 'zks_getL1BatchBlockRange'],
  ...['zks_getL1BatchDetails', 'zks_getL1GasPrice', 'zks_getL2ToL1LogProof', 'zks_getL2ToL1MsgProof'],
  ...['zks_getMainContract', 'zks_getProof', 'zks_getProtocolVersion', 'zks_getRawBlockTransactions'],
  ...['zks_getL2DAValidator', 'zks_getL2Multicall3', 'zks_getTestnetPaymaster', 'zks_getTimestampAsserter'],
  'zks_getTransactionDetails',
];

/** docs.linea.build, Linea methods. */
const LINEA = ['linea_estimateGas', 'linea_getProof', 'linea_getTransactionExclusionStatusV1'];

/**
 * docs.polygon.technology and bor's `consensus/bor/api.go`. Its `bor_getVoteOnHash` is no question: it locks the node to a
 * milestone of the caller's (`eth/bor_api_backend.go`).
 */
const BOR = [
  ...['bor_getAuthor', 'bor_getCurrentProposer', 'bor_getCurrentValidators', 'bor_getRootHash'],
  ...['bor_getSigners', 'bor_getSignersAtHash', 'bor_getSnapshot', 'bor_getSnapshotAtHash'],
  ...['bor_getSnapshotProposer', 'bor_getSnapshotProposerSequence'],
];

/** The whole advanced tier (RPC-2); `arbtrace_` is the spelling of `trace_` on Arbitrum. */
const TRACES = [
  ...['trace_block', 'trace_call', 'trace_callMany', 'trace_filter', 'trace_transaction'],
  ...['trace_rawTransaction', 'debug_traceBlock', 'debug_traceBlockByHash', 'debug_traceBlockByNumber'],
  ...['debug_traceCall', 'debug_traceTransaction', 'debug_storageRangeAt'],
  ...['txpool_inspect', 'txpool_status'],
];
const ARBITRUM_TRACES = [
  ...['arbtrace_block', 'arbtrace_call', 'arbtrace_callMany', 'arbtrace_filter', 'arbtrace_transaction'],
];

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
