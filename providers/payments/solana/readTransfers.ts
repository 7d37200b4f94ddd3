/** Reads transfers into the token account of `payTo` from the transactions of its address. */
import { isAddress } from '@solana/kit';
import type { PaymentNetworkSettings } from '../../../domain/payments/networkSettings.ts';
import { type ChainNode, NodeSilent } from '../nodes/chainNode.ts';
import { createRpcNodes, type RpcNodes } from '../nodes/rpcNodes.ts';
import type { IncomingTransfer, TransferReader } from '../paymentNetwork.ts';
import { requireChain } from './createSolanaPayments.ts';
import { decodeWire } from './decodeTransaction.ts';
import { transferIn } from './exactTransfer.ts';
import { tokenAccountOf } from './programs.ts';
import { type ChainTransaction, readAccounts, readSignatures, readSlot, readTransaction } from './readNode.ts';

const DECIMALS = 6;
const PAGE = 1_000;
const MAX_PAGES = 100;
const CALL_TIMEOUT_MS = 20_000;

export function createSolanaTransfers(settings: PaymentNetworkSettings): TransferReader {
  const { network, rpcUrls: urls, allowPrivateNetwork } = settings;
  const nodes = createRpcNodes({
    ...{ network, urls, allowPrivateNetwork, callTimeoutMs: CALL_TIMEOUT_MS },
    prove: (node) => requireChain(node, settings),
  });
  return {
    read: (sinceSeconds, signal) => readTransfers({ nodes, settings, signal }, sinceSeconds),
    close: () => nodes.close(),
  };
}

interface SolanaTransferReader {
  nodes: RpcNodes;
  settings: PaymentNetworkSettings;
  signal: AbortSignal;
}

async function* readTransfers(reader: SolanaTransferReader, sinceSeconds: number): AsyncGenerator<IncomingTransfer> {
  const account = await accountOf(reader);
  const found = await signaturesSince(reader, account, sinceSeconds);
  for (const { signature, atSeconds } of found) {
    const seen = await reader.nodes.agreed(
      async (node) => (await readTransaction(node, signature, 'finalized')) ?? null,
      reader.signal,
    );
    if (seen === null) throw new NodeSilent(`no node has the transaction ${signature}`);
    const transfer = await transferOf(reader.settings, account, seen);
    if (transfer) yield { ...transfer, transaction: signature, atSeconds };
  }
}

/** Associated account of `payTo` under the token's program. */
async function accountOf({ nodes, settings, signal }: SolanaTransferReader): Promise<string> {
  const { asset, payTo } = settings;
  const read = async (node: ChainNode) => (await readAccounts(node, [asset]))[0]?.owner ?? '';
  const program = await nodes.agreed(read, signal);
  if (!isAddress(program)) throw new NodeSilent('the token is not there');
  return await tokenAccountOf(payTo, asset, program);
}

interface Signature {
  signature: string;
  slot: number;
  atSeconds: number;
}

/** Oldest first, final at every node. Nodes' lists may be incomplete: they must agree on each transaction only. */
async function signaturesSince(
  { nodes, settings, signal }: SolanaTransferReader,
  account: string,
  sinceSeconds: number,
): Promise<Signature[]> {
  const { all: slots } = await nodes.readings((node) => readSlot(node, 'finalized'), signal);
  const last = Math.min(...slots) - Math.max(0, settings.confirmations - CONFIRMED_BY_FINALITY);
  const { all } = await nodes.readings((node) => listSince(node, account, sinceSeconds), signal);
  const bySignature = new Map(all.flat().map((one) => [one.signature, one]));
  return [...bySignature.values()].filter(({ slot }) => slot <= last).toSorted((one, other) => one.slot - other.slot);
}

async function listSince(node: ChainNode, account: string, sinceSeconds: number): Promise<Signature[]> {
  const found: Signature[] = [];
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const before = found.at(-1)?.signature;
    const page = await readSignatures(node, account, { limit: PAGE, before });
    for (const { signature, slot, blockTime } of page) {
      if (blockTime !== null && blockTime < sinceSeconds) return found;
      found.push({ signature, slot, atSeconds: blockTime ?? 0 });
    }
    if (page.length < PAGE) return found;
  }
  throw new NodeSilent(`more than ${MAX_PAGES * PAGE} transactions: choose a later time to begin with`);
}

/** Minimum number of slots on top of a final one. */
const CONFIRMED_BY_FINALITY = 32;

type MovedAmount = Pick<IncomingTransfer, 'network' | 'asset' | 'amount' | 'payment'>;

/** Undefined: no incoming amount. */
async function transferOf(
  { network, asset, payTo }: PaymentNetworkSettings,
  account: string,
  { transaction: [text], meta }: ChainTransaction,
): Promise<MovedAmount | undefined> {
  const unitsIn = (balances: typeof meta.preTokenBalances) =>
    balances
      .filter(({ mint, owner }) => mint === asset && owner === payTo)
      .reduce((sum, { uiTokenAmount }) => sum + BigInt(uiTokenAmount.amount), 0n);
  const amount = unitsIn(meta.postTokenBalances) - unitsIn(meta.preTokenBalances);
  if (meta.err !== null || amount <= 0n) return undefined;
  const moved = { network, asset, amount: amount.toString() };
  const decoded = decodeWire(new Uint8Array(Buffer.from(text, 'base64')));
  if (typeof decoded === 'string') return moved;
  const terms = { mint: asset, decimals: DECIMALS, payTo };
  const transfer = await transferIn(decoded, terms).catch(() => undefined);
  if (transfer?.destination !== account || transfer.amount !== amount) return moved;
  return {
    ...moved,
    payment: { payer: { family: 'solana', address: decoded.payer }, nonce: decoded.digest },
  };
}
