/** Reads blocks, receipts and logs from a node and checks their shape. Hexadecimal values are in lower case. */
import { z } from 'zod';
import { type ChainNode, checkAnswer, NodeSilent } from '../nodes/chainNode.ts';

/** A top-up transaction has fewer. */
const MAX_LOGS = 10_000;

const hex = z
  .string()
  .regex(/^0x[0-9a-fA-F]*$/)
  .transform((text) => text.toLowerCase());
const hash = hex.refine((text) => text.length === 66);
const whole = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform(BigInt);

const block = z.object({ number: whole, timestamp: whole, hash, baseFeePerGas: whole.optional() });
const log = z.object({
  address: hex,
  topics: z.array(hash).max(4),
  data: hex,
  logIndex: whole,
  blockNumber: whole,
  blockHash: hash,
  transactionHash: hash,
});
const receipt = z.object({
  transactionHash: hash,
  blockHash: hash,
  blockNumber: whole,
  status: hex,
  logs: z.array(log).max(MAX_LOGS),
});
const waiting = z.object({
  hash,
  blockHash: hash.nullish(),
  nonce: whole,
  gas: whole,
  maxFeePerGas: whole.optional(),
  maxPriorityFeePerGas: whole.optional(),
});

export type Block = z.output<typeof block>;
export type Log = z.output<typeof log>;
export type Receipt = z.output<typeof receipt>;

/** `which`: a number in hex, or a tag. Throws NodeSilent if there is no such block. */
export async function readBlock(node: ChainNode, which: string): Promise<Block> {
  return checkAnswer(block, await node.call('eth_getBlockByNumber', [which, false]));
}

export interface WaitingTransaction {
  isMined: boolean;
  nonce: number;
  gas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** Reads a mined or pending transaction of this service; undefined if the node has none. */
export async function readWaiting(node: ChainNode, transaction: string): Promise<WaitingTransaction | undefined> {
  const answer = await node.call('eth_getTransactionByHash', [transaction]);
  if (answer === null) return undefined;
  const told = checkAnswer(waiting, answer);
  if (told.hash !== transaction) throw new NodeSilent('another transaction');
  const { blockHash, nonce, gas, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = told;
  const isMined = blockHash !== null && blockHash !== undefined;
  return { isMined, nonce: Number(nonce), gas, maxFeePerGas, maxPriorityFeePerGas };
}

/** Undefined: not in a block. */
export async function readReceipt(node: ChainNode, transaction: string): Promise<Receipt | undefined> {
  const answer = await node.call('eth_getTransactionReceipt', [transaction]);
  if (answer === null) return undefined;
  const told = checkAnswer(receipt, answer);
  if (told.transactionHash !== transaction) throw new NodeSilent('the receipt of another transaction');
  return told;
}

export interface LogFilter {
  address: string;
  /** Per position one value or several alternatives; empty: any value. */
  topics: readonly (string | readonly string[])[];
  fromBlock: bigint;
  toBlock: bigint;
}

/** Returns the matching logs. Filters them again, because a node may not. */
export async function readLogs(node: ChainNode, filter: LogFilter): Promise<Log[]> {
  const { address, topics, fromBlock, toBlock } = filter;
  const range = { fromBlock: `0x${fromBlock.toString(16)}`, toBlock: `0x${toBlock.toString(16)}` };
  const asked = topics.map((wanted) => (wanted.length === 0 ? null : wanted));
  const told = checkAnswer(
    z.array(log).max(MAX_LOGS),
    await node.call('eth_getLogs', [{ address, topics: asked, ...range }]),
  );
  return told.filter(
    (one) =>
      one.address === address &&
      one.blockNumber >= fromBlock &&
      one.blockNumber <= toBlock &&
      topics.every((wanted, place) => wanted.length === 0 || [wanted].flat().includes(one.topics[place] ?? '')),
  );
}

/**
 * Confirmation state of a block at this node; `replaced`: another block has its height. The head is read after the
 * block was seen, and the block once more after that, to notice a reorganisation.
 */
export async function depthOf(
  node: ChainNode,
  seen: { blockNumber: bigint; blockHash: string },
  confirmations: bigint,
): Promise<'replaced' | 'shallow' | 'deep'> {
  const head = await readBlock(node, 'latest');
  const now = await node.call('eth_getBlockByNumber', [`0x${seen.blockNumber.toString(16)}`, false]);
  if (now === null || checkAnswer(block, now).hash !== seen.blockHash) return 'replaced';
  return head.number >= seen.blockNumber + confirmations ? 'deep' : 'shallow';
}
