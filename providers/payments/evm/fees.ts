/** Gas prices: as nodes report them, for simulated calls, and for transactions. */
import { toHex } from 'viem';
import { type ChainNode, NodeRefused } from '../nodes/chainNode.ts';
import { quantity } from './chain.ts';
import { readBlock } from './readChain.ts';

const GWEI = 1_000_000_000n;
/** Above it nothing is submitted: a top-up of 5 USD must not cost more than itself. */
export const MAX_FEE_PER_GAS = 300n * GWEI;
const MAX_TIP_PER_GAS = 5n * GWEI;
/** Tip if a node reports none. */
const DEFAULT_TIP_PER_GAS = GWEI / 1_000n;

export interface Fees {
  baseFee: bigint;
  /** At most `MAX_TIP_PER_GAS`. */
  tip: bigint;
}

export interface Price {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

export async function readFees(node: ChainNode): Promise<Fees> {
  const [latest, tip] = await Promise.all([
    readBlock(node, 'latest'),
    node.call('eth_maxPriorityFeePerGas', []).then(quantity, tipOf),
  ]);
  return { baseFee: latest.baseFeePerGas ?? 0n, tip: lesser(tip, MAX_TIP_PER_GAS) };
}

function tipOf(error: unknown): bigint {
  if (error instanceof NodeRefused) return DEFAULT_TIP_PER_GAS;
  throw error;
}

/** Price for a simulated call: that of the next block. */
export function pricedNow({ baseFee, tip }: Fees): { maxFeePerGas: string; maxPriorityFeePerGas: string } {
  return { maxFeePerGas: toHex(baseFee + tip), maxPriorityFeePerGas: toHex(tip) };
}

/** Price for a transaction, which may wait while the base fee doubles. */
export function priceOf({ baseFee, tip }: Fees): Price {
  const maxFeePerGas = lesser(2n * baseFee + tip, MAX_FEE_PER_GAS);
  return { maxFeePerGas, maxPriorityFeePerGas: lesser(tip, maxFeePerGas) };
}

/** Nodes require a tenth more, some an eighth. Undefined: that exceeds `MAX_FEE_PER_GAS`. */
export function raisedPrice(fees: Fees, earlier: Price): Price | undefined {
  const wanted = priceOf(fees);
  const maxFeePerGas = greater(wanted.maxFeePerGas, raised(earlier.maxFeePerGas));
  if (maxFeePerGas > MAX_FEE_PER_GAS) return undefined;
  const tip = greater(wanted.maxPriorityFeePerGas, raised(earlier.maxPriorityFeePerGas));
  return { maxFeePerGas, maxPriorityFeePerGas: lesser(tip, maxFeePerGas) };
}

function raised(price: bigint): bigint {
  return (price * 5n) / 4n + 1n;
}

function lesser(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

function greater(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
