/** Reads the token's transfers to `payTo` from its events, in block ranges that nodes grant. */
import type { PaymentNetworkSettings } from '../../../domain/payments/networkSettings.ts';
import { type ChainNode, NodeRefused, NodeSilent } from '../nodes/chainNode.ts';
import type { IncomingTransfer, TransferReader } from '../paymentNetwork.ts';
import { type Chain, createChain } from './chain.ts';
import { type Log, readBlock, readLogs, readReceipt } from './readChain.ts';
import { asTopic, TRANSFER_EVENT, USED_EVENT } from './token.ts';

const MAX_BLOCKS_AT_ONCE = 2_000n;
const MIN_BLOCKS_AT_ONCE = 10n;
/** Longer than for a payment, because no payer waits. */
const CALL_TIMEOUT_MS = 20_000;

export function createEvmTransfers(settings: PaymentNetworkSettings): TransferReader {
  const chain = createChain({ ...settings, callTimeoutMs: CALL_TIMEOUT_MS });
  return {
    read: (sinceSeconds, signal) => readTransfers({ chain, settings, signal }, BigInt(sinceSeconds)),
    close: () => chain.close(),
  };
}

interface EvmTransferReader {
  chain: Chain;
  settings: PaymentNetworkSettings;
  signal: AbortSignal;
}

async function* readTransfers(reader: EvmTransferReader, since: bigint): AsyncGenerator<IncomingTransfer> {
  const last = (await headOf(reader)) - BigInt(reader.settings.confirmations);
  let fromBlock = await firstBlockSince(reader, since, last);
  let atOnce = MAX_BLOCKS_AT_ONCE;
  while (fromBlock <= last) {
    const toBlock = fromBlock + atOnce - 1n < last ? fromBlock + atOnce - 1n : last;
    const transfers = await transfersIn(reader, fromBlock, toBlock);
    if (transfers === 'too many blocks') {
      if (atOnce <= MIN_BLOCKS_AT_ONCE) throw new NodeSilent(`no node grants a range of ${atOnce} blocks`);
      atOnce /= 2n;
      continue;
    }
    yield* transfers;
    fromBlock = toBlock + 1n;
  }
}

/** Head of the node that is furthest behind: it cannot confirm later blocks. */
async function headOf({ chain, signal }: EvmTransferReader): Promise<bigint> {
  const read = async (node: ChainNode) => Number((await readBlock(node, 'latest')).number);
  const { all } = await chain.readings(read, signal);
  return BigInt(Math.min(...all));
}

async function timeOf({ chain, signal }: EvmTransferReader, number: bigint): Promise<bigint> {
  const read = async (node: ChainNode) => Number((await readBlock(node, `0x${number.toString(16)}`)).timestamp);
  return BigInt(await chain.agreed(read, signal));
}

/** First block at or after `since`, by binary search; `last` + 1 if there is none. */
async function firstBlockSince(reader: EvmTransferReader, since: bigint, last: bigint): Promise<bigint> {
  let low = 0n;
  let high = last + 1n;
  while (low < high) {
    const middle = (low + high) / 2n;
    if ((await timeOf(reader, middle)) < since) low = middle + 1n;
    else high = middle;
  }
  return low;
}

async function transfersIn(
  { chain, settings, signal }: EvmTransferReader,
  fromBlock: bigint,
  toBlock: bigint,
): Promise<IncomingTransfer[] | 'too many blocks'> {
  const read = async (node: ChainNode): Promise<IncomingTransfer[] | 'too many blocks'> => {
    const { asset: address, payTo } = settings;
    const topics = [TRANSFER_EVENT, [], asTopic(payTo)];
    const logs = await readLogs(node, { address, topics, fromBlock, toBlock }).catch((error: unknown) => {
      if (error instanceof NodeRefused) return undefined;
      throw error;
    });
    if (logs === undefined) return 'too many blocks';
    const transfers: IncomingTransfer[] = [];
    for (const log of logs) transfers.push(await transferOf(node, log, settings));
    return transfers;
  };
  return await chain.agreed(read, signal);
}

/** The event just before a transfer names its authorization. */
async function transferOf(
  node: ChainNode,
  log: Log,
  { network, asset }: PaymentNetworkSettings,
): Promise<IncomingTransfer> {
  const { transactionHash: transaction, data, logIndex } = log;
  const block = await readBlock(node, `0x${log.blockNumber.toString(16)}`);
  const receipt = await readReceipt(node, transaction);
  if (receipt === undefined || block.hash !== log.blockHash) throw new NodeSilent('the block was replaced');
  const before = receipt.logs.find((one) => one.logIndex === logIndex - 1n && one.address === asset);
  const from = log.topics[1];
  const [event, authorizer, nonce] = before?.topics ?? [];
  const isByAuthorization = event === USED_EVENT && authorizer === from && nonce !== undefined;
  const address = `0x${from?.slice(-40) ?? ''}`;
  return {
    ...{ network, asset, transaction },
    atSeconds: Number(block.timestamp),
    amount: BigInt(data).toString(),
    ...(isByAuthorization && { payment: { payer: { family: 'evm', address }, nonce } }),
  };
}
