/**
 * Rules for answers that can never change: statements of a family about final blocks. Tags such as `latest` name
 * another block each time and are never included; neither is `earliest`, the first block that a node still has.
 * Sources: ethereum/execution-apis, EIP-1898, the Solana RPC documentation (commitments), the Starknet RPC
 * specification (finality statuses).
 */
import type { RpcFamily } from './networks.ts';

export type Finality =
  /** Constant of the chain. */
  | { kind: 'always' }
  /** Final when the block of this number is. */
  | { kind: 'height'; height: number }
  /** Final when the block is whose number is in `member` of the answer. */
  | { kind: 'member'; member: string }
  /** Final when one of `members` of the answer is `value`. */
  | { kind: 'status'; members: readonly string[]; value: string };

/** Longer params do not name a block. */
const MAX_PARAMS_LENGTH = 512;

const ALWAYS = new Set(['eth_chainId', 'net_version', 'getGenesisHash', 'starknet_chainId']);

/** Position of the block number in the params, by method. */
const BY_NUMBER: ReadonlyMap<string, number> = new Map(
  Object.entries({
    eth_getBlockByNumber: 0,
    eth_getBlockReceipts: 0,
    eth_getBlockTransactionCountByNumber: 0,
    eth_getTransactionByBlockNumberAndIndex: 0,
    eth_getUncleCountByBlockNumber: 0,
    eth_getCode: 1,
    eth_getBalance: 1,
    eth_getTransactionCount: 1,
    eth_getStorageAt: 2,
  }),
);

const STATE = new Set(['eth_getCode', 'eth_getBalance', 'eth_getTransactionCount', 'eth_getStorageAt']);

const BY_ANSWER: ReadonlyMap<string, string> = new Map(
  Object.entries({
    eth_getBlockByHash: 'number',
    eth_getTransactionByHash: 'blockNumber',
    eth_getTransactionReceipt: 'blockNumber',
  }),
);

const STARKNET_BLOCKS = ['starknet_getBlockWithTxHashes', 'starknet_getBlockWithTxs', 'starknet_getBlockWithReceipts'];
const STARKNET = new Set([...STARKNET_BLOCKS, 'starknet_getTransactionReceipt']);

/** Whether answers of this method can be kept at all. */
export function isEverKept(family: RpcFamily, method: string): boolean {
  if (ALWAYS.has(method)) return true;
  if (family === 'starknet') return STARKNET.has(method);
  return family === 'solana' ? SOLANA_PAST.has(method) : BY_NUMBER.has(method) || BY_ANSWER.has(method);
}

/** Undefined: never kept. */
export function keepingOf(family: RpcFamily, method: string, params: string | undefined): Finality | undefined {
  if (!isEverKept(family, method)) return undefined;
  if (ALWAYS.has(method)) return { kind: 'always' };
  if (params === undefined || params.length > MAX_PARAMS_LENGTH) return undefined;
  const list: unknown = JSON.parse(params);
  if (!Array.isArray(list)) return undefined;
  if (family === 'starknet') return starknetKeeping(method, list);
  return family === 'solana' ? solanaKeeping(list) : evmKeeping(method, list);
}

/** A tag, such as `l1_accepted`, names another block each time, even a final one. */
function starknetKeeping(method: string, [of]: unknown[]): Finality | undefined {
  if (!STARKNET_BLOCKS.includes(method)) return ON_L1;
  return isObject(of) && ('block_hash' in of || 'block_number' in of) ? ON_L1 : undefined;
}

const ON_L1: Finality = { kind: 'status', members: ['status', 'finality_status'], value: 'ACCEPTED_ON_L1' };
const SOLANA_PAST = new Set(['getBlock', 'getTransaction']);

/** Both methods answer about finalized blocks unless another commitment is requested, and null before that. */
function solanaKeeping([, options]: unknown[]): Finality | undefined {
  const commitment = isObject(options) ? options.commitment : undefined;
  return commitment === undefined || commitment === 'finalized' ? { kind: 'always' } : undefined;
}

function evmKeeping(method: string, list: unknown[]): Finality | undefined {
  const member = BY_ANSWER.get(method);
  if (member !== undefined) return { kind: 'member', member };
  const at = list[BY_NUMBER.get(method) ?? -1];
  // A block hash fixes the state after the block, but not whether the block is canonical.
  if (isObject(at) && at.requireCanonical === true) return undefined;
  if (isObject(at) && STATE.has(method) && isHash(at.blockHash)) return { kind: 'always' };
  const height = heightOf(isObject(at) ? at.blockNumber : at);
  return height === undefined ? undefined : { kind: 'height', height };
}

function heightOf(value: unknown): number | undefined {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{1,13}$/.test(value) ? Number(value) : undefined;
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{64}$/.test(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether the answer may be kept. `finalized`: number of the newest final block. Null is not an answer yet. */
export function mayBeKept(keeping: Finality, answer: unknown, finalized: number | undefined): boolean {
  if (answer === null || answer === undefined) return false;
  switch (keeping.kind) {
    case 'always':
      return true;
    case 'height':
      return finalized !== undefined && keeping.height <= finalized;
    case 'member': {
      const height = isObject(answer) ? heightOf(answer[keeping.member]) : undefined;
      return height !== undefined && finalized !== undefined && height <= finalized;
    }
    case 'status':
      return isObject(answer) && keeping.members.some((member) => answer[member] === keeping.value);
  }
}
