/** Finds the event that used or cancelled an authorization, within the blocks of its window, latest first. */
import type { Hex } from 'viem';
import { type ChainNode, NodeRefused } from '../nodes/chainNode.ts';
import type { SignedPayment } from '../paymentNetwork.ts';
import { type Block, type Log, readBlock, readLogs } from './readChain.ts';
import { asTopic, CANCELED_EVENT, USED_EVENT } from './token.ts';

export interface UseQuery {
  token: Hex;
  confirmations: bigint;
  payment: SignedPayment;
  hint: string | undefined;
  /** Whether the hint is this service's own transaction, which it may send again. */
  isOurs: boolean;
}

/** Seconds searched before the arrival, since another party may have submitted earlier; never before the window. */
const SECONDS_BEFORE = 86_400n;
/** Nodes grant ranges of some thousand blocks. If one refuses, the range is halved. */
const MAX_BLOCKS_AT_ONCE = 2_000n;
const MIN_BLOCKS_AT_ONCE = 10n;
const MAX_QUESTIONS = 200;
const FIRST_STRIDE = 64n;

/**
 * Requires an authorization that is used at `latest`. Undefined: the event is before the searched blocks. Throws
 * NodeSilent.
 */
export async function findUse(node: ChainNode, sought: UseQuery, latest: Block): Promise<Log | undefined> {
  const { token, payment } = sought;
  const topics = [[USED_EVENT, CANCELED_EVENT], asTopic(payment.payer.address), payment.nonce];
  const firstBlock = await firstBlockOf(node, sought, latest);
  let toBlock = latest.number;
  let atOnce = MAX_BLOCKS_AT_ONCE;
  for (let questions = 0; questions < MAX_QUESTIONS && toBlock >= firstBlock; questions += 1) {
    const wanted = toBlock - atOnce + 1n;
    const fromBlock = wanted > firstBlock ? wanted : firstBlock;
    const logs = await readLogs(node, { address: token, topics, fromBlock, toBlock }).catch((error) => {
      if (!(error instanceof NodeRefused) || atOnce <= MIN_BLOCKS_AT_ONCE) throw error;
      return undefined;
    });
    if (logs === undefined) {
      atOnce /= 2n;
      continue;
    }
    const [use] = logs;
    if (use !== undefined) return use;
    toBlock = fromBlock - 1n;
  }
  return undefined;
}

/** Returns a block before the payment could be used, found backwards in doubling strides. */
async function firstBlockOf(node: ChainNode, { payment }: UseQuery, latest: Block): Promise<bigint> {
  const seenAt = BigInt(payment.readAt ?? payment.validAfter) - SECONDS_BEFORE;
  const validAfter = BigInt(payment.validAfter);
  const since = seenAt > validAfter ? seenAt : validAfter;
  for (let stride = FIRST_STRIDE; stride < latest.number; stride *= 2n) {
    const number = latest.number - stride;
    if ((await readBlock(node, `0x${number.toString(16)}`)).timestamp < since) return number;
  }
  return 0n;
}
