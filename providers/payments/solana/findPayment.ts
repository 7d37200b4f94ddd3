/**
 * What became of a payment, by the chain alone: whether its message is in a block, under whatever signature of the fee
 * payer, and whether it moved what was signed. Each node reads all of it for itself; see nodes/ for when they are believed.
 */
import { isSignature } from '@solana/kit';
import type { PaymentNetworkSettings } from '../../../domain/payments/networkSettings.ts';
import type { ChainNode } from '../nodes/chainNode.ts';
import { combineSightings, type RpcNodes, type Sighting } from '../nodes/rpcNodes.ts';
import type { PaymentLookup, SignedPayment } from '../paymentNetwork.ts';
import { decodeWire, type PaymentTransaction } from './decodeTransaction.ts';
import { type Transfer, transferIn } from './exactTransfer.ts';
import type { FeeKey } from './feeKey.ts';
import { ownSignature } from './ownSettler.ts';
import {
  type ChainTransaction,
  isBlockhashValid,
  readBlockTime,
  readSignatures,
  readSlot,
  readTransaction,
  type TokenBalance,
} from './readNode.ts';
import { transactionOf } from './readPayment.ts';

type SolanaSighting = Sighting<{ slot: number }>;

export interface SolanaPaymentFinder {
  nodes: RpcNodes;
  settings: PaymentNetworkSettings;
  decimals: number;
  /** Undefined where a facilitator signs, with a signature that nobody knows beforehand. */
  key: FeeKey | undefined;
}

/** From here on a block counts as one that is never taken back, if the network says so too. */
const ROOTED_SLOTS = 32;
/** The clock of the chain against ours, and the time from our reading to the block that a reader sees. */
const CLOCK_SLACK_S = 60;
/** A blockhash lives some minutes at the very most: nothing of a payment is older, when it was good as it was read. */
const SECONDS_BEFORE = 900;
const PAGE = 100;
const MAX_PAGES = 10;
const MAX_LOOKED_AT = 200;

/** Throws ChainUnavailable. */
export async function findPayment(
  { nodes, settings, decimals, key }: SolanaPaymentFinder,
  payment: SignedPayment,
  { signal, transaction }: { signal: AbortSignal; transaction: string | undefined },
): Promise<PaymentLookup> {
  const signed = transactionOf(payment);
  const own = key === undefined ? undefined : ownSignature(signed, key);
  const hint = transaction !== undefined && isSignature(transaction) ? transaction : undefined;
  // Of the payment: the configuration may name others by now.
  const { asset: mint, payTo } = payment;
  const { confirmations } = settings;
  const sought: PaymentQuery = {
    ...{ payment, signed, confirmations },
    transfer: await transferIn(signed, { mint, decimals, payTo }),
    named: [...new Set([own ?? [], hint ?? []].flat())],
    isNamed: own !== undefined,
  };
  const readings = await nodes.readings((node) => readFrom(node, sought), signal);
  return combineSightings(readings, payment, 'the transaction is on the chain, but did not move what was signed');
}

interface PaymentQuery {
  payment: SignedPayment;
  signed: PaymentTransaction;
  transfer: Transfer;
  confirmations: number;
  /** Signatures to look under. */
  named: readonly string[];
  /** Whether it can only be under one of those. */
  isNamed: boolean;
}

/** Whether the time is over is asked first: what is not there afterwards did not come before. */
async function readFrom(node: ChainNode, sought: PaymentQuery): Promise<SolanaSighting> {
  const isOver = await isTimeOver(node, sought);
  for (const signature of sought.named) {
    const reading = await readUnder(node, sought, signature);
    if (reading !== undefined) return reading;
  }
  if (sought.isNamed) return { state: 'absent', gone: isOver };
  const { reading, isWhole } = await search(node, sought);
  return reading ?? { state: 'absent', gone: isOver && isWhole };
}

/** Undefined: there is no such transaction, or it is another message. */
async function readUnder(
  node: ChainNode,
  sought: PaymentQuery,
  signature: string,
): Promise<SolanaSighting | undefined> {
  const seen = await readTransaction(node, signature, 'confirmed');
  if (seen === undefined || !isOurs(seen, sought)) return undefined;
  const about = { transaction: signature, slot: seen.slot };
  if (!(await isDeep(node, sought, about))) return { state: 'pending', ...about };
  return { state: movedWhatWasSigned(seen, sought) ? 'final' : 'wrong', ...about };
}

function isOurs({ transaction: [text] }: ChainTransaction, { signed }: PaymentQuery): boolean {
  const decoded = decodeWire(new Uint8Array(Buffer.from(text, 'base64')));
  return typeof decoded !== 'string' && decoded.digest === signed.digest;
}

/** The head is asked for after the transaction was seen, and the transaction once more after that. */
async function isDeep(
  node: ChainNode,
  { confirmations }: PaymentQuery,
  { transaction, slot }: { transaction: string; slot: number },
): Promise<boolean> {
  if ((await readSlot(node, 'confirmed')) < slot + confirmations) return false;
  const commitment = confirmations >= ROOTED_SLOTS ? 'finalized' : 'confirmed';
  return (await readTransaction(node, transaction, commitment))?.slot === slot;
}

/** By the balances that the node noted before and after, of both ends. */
function movedWhatWasSigned({ meta }: ChainTransaction, { signed, transfer, payment }: PaymentQuery): boolean {
  if (meta.err !== null) return false;
  const change = (address: string, owner: string) => {
    const is = (balance: TokenBalance) =>
      signed.accounts[balance.accountIndex] === address &&
      balance.mint === payment.asset &&
      (balance.owner ?? owner) === owner &&
      (balance.programId ?? transfer.program) === transfer.program;
    const after = meta.postTokenBalances.find(is);
    const before = meta.preTokenBalances.find(is);
    return BigInt(after?.uiTokenAmount.amount ?? 0) - BigInt(before?.uiTokenAmount.amount ?? 0);
  };
  const amount = BigInt(payment.amount);
  return (
    change(transfer.destination, payment.payTo) === amount && change(transfer.source, payment.payer.address) === -amount
  );
}

/**
 * A final block that was made well after we read the payment knows its blockhash, if there ever was one, unless it is too
 * old: then it is too old for every block to come. In case our own clock is slow the tip must not know it either.
 */
async function isTimeOver(node: ChainNode, { payment, signed }: PaymentQuery): Promise<boolean> {
  if (payment.readAt === undefined) return false;
  const slot = await readSlot(node, 'finalized');
  const time = await readBlockTime(node, slot).catch(() => undefined);
  if (time === undefined || time < Number(payment.readAt) + CLOCK_SLACK_S) return false;
  if (await isBlockhashValid(node, signed.blockhash, 'finalized')) return false;
  return !(await isBlockhashValid(node, signed.blockhash, 'confirmed'));
}

interface Search {
  reading: SolanaSighting | undefined;
  /** Whether all was looked at that it could have been. */
  isWhole: boolean;
}

/** Through what the payer's token account has been part of, back to before the payment can have come. */
async function search(node: ChainNode, sought: PaymentQuery): Promise<Search> {
  const since = Number(sought.payment.readAt ?? 0) - SECONDS_BEFORE;
  let before: string | undefined;
  let lookedAt = 0;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = await readSignatures(node, sought.transfer.source, { limit: PAGE, before });
    for (const { signature, blockTime } of page) {
      if (blockTime !== null && blockTime < since) return { reading: undefined, isWhole: true };
      if (lookedAt === MAX_LOOKED_AT) return { reading: undefined, isWhole: false };
      lookedAt += 1;
      const reading = await readUnder(node, sought, signature);
      if (reading !== undefined) return { reading, isWhole: true };
    }
    if (page.length < PAGE) return { reading: undefined, isWhole: true };
    before = page.at(-1)?.signature;
  }
  return { reading: undefined, isWhole: false };
}
