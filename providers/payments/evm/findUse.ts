/** Looks for the event that used or cancelled an authorization, in the blocks since shortly before we first saw it. */
import type { Sought } from './findPayment.ts';
import { type ChainNode, NodeRefused, NodeSilent } from './node.ts';
import { type Block, type Log, readBlock, readLogs } from './readChain.ts';
import { asTopic, CANCELED_EVENT, USED_EVENT } from './token.ts';

/** Somebody else may have handed it in before it came to us. */
const SECONDS_BEFORE = 3_600n;
/** Nodes grant a range of some thousand blocks; one that grants less says so, and the range is halved. */
const MOST_BLOCKS_AT_ONCE = 2_000n;
const FEWEST_BLOCKS_AT_ONCE = 10n;
const MOST_QUESTIONS = 200;
const FIRST_STRIDE = 64n;

/** The authorization is used in the state after `latest`. Throws NodeSilent when the node cannot show by what. */
export async function findUse(node: ChainNode, sought: Sought, latest: Block): Promise<Log> {
  const { token, payment } = sought;
  const topics = [[USED_EVENT, CANCELED_EVENT], asTopic(payment.payer.address), payment.nonce];
  let fromBlock = await firstBlock(node, sought, latest);
  let atOnce = MOST_BLOCKS_AT_ONCE;
  for (let questions = 0; questions < MOST_QUESTIONS && fromBlock <= latest.number; questions += 1) {
    const wanted = fromBlock + atOnce - 1n;
    const toBlock = wanted < latest.number ? wanted : latest.number;
    const logs = await readLogs(node, { address: token, topics, fromBlock, toBlock }).catch((error) => {
      if (!(error instanceof NodeRefused) || atOnce <= FEWEST_BLOCKS_AT_ONCE) throw error;
      return undefined;
    });
    if (logs === undefined) {
      atOnce /= 2n;
      continue;
    }
    const [use] = logs;
    if (use !== undefined) return use;
    fromBlock = toBlock + 1n;
  }
  throw new NodeSilent('the authorization was used, but no event says where');
}

/** A block from before the payment can have come: found backwards in doubling strides. */
async function firstBlock(node: ChainNode, { payment }: Sought, latest: Block): Promise<bigint> {
  const seenAt = BigInt(payment.readAt ?? payment.validAfter) - SECONDS_BEFORE;
  const validAfter = BigInt(payment.validAfter);
  const since = seenAt > validAfter ? seenAt : validAfter;
  for (let stride = FIRST_STRIDE; stride < latest.number; stride *= 2n) {
    const number = latest.number - stride;
    if ((await readBlock(node, `0x${number.toString(16)}`)).timestamp < since) return number;
  }
  return 0n;
}
