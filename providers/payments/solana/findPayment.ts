/**
 * Finds the outcome of a payment on the chain alone. Its message may be in a block under any signature of the fee
 * payer; the transaction must have moved the signed amount. Each node is read independently; see nodes/rpcNodes.ts for
 * the quorum.
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
  /** Undefined if a facilitator signs, whose signature is unknown beforehand. */
  key: FeeKey | undefined;
}

/** Confirmations from which a block must also be `finalized`. */
const ROOTED_SLOTS = 32;
/** Tolerance for clock differences, and for the time from reading the payment to the block that a node reads. */
const CLOCK_SLACK_S = 60;
/** A blockhash is valid for some minutes at most, so a payment valid when read cannot be on the chain earlier. */
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
  // From the payment: the configuration may have changed.
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
  /** Signatures to look up. */
  named: readonly string[];
  /** Whether `named` is complete. */
  isNamed: boolean;
}

/** Expiry is read first: if the payment is absent afterwards, it did not come before the expiry. */
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

/** Undefined: no such transaction, or one with another message. */
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

/** The head is read after the transaction was seen, and the transaction once more after that. */
async function isDeep(
  node: ChainNode,
  { confirmations }: PaymentQuery,
  { transaction, slot }: { transaction: string; slot: number },
): Promise<boolean> {
  if ((await readSlot(node, 'confirmed')) < slot + confirmations) return false;
  const commitment = confirmations >= ROOTED_SLOTS ? 'finalized' : 'confirmed';
  return (await readTransaction(node, transaction, commitment))?.slot === slot;
}

/** Compares both ends' balances before and after, as the node recorded them. */
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
 * A final block made well after the payment was read knows its blockhash, unless that never existed or is too old. Too
 * old now means too old for all later blocks. The tip is checked too, in case the local clock is slow.
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
  /** Whether the search covered all possible transactions. */
  isWhole: boolean;
}

/** Searches the transactions of the payer's token account, back to before the payment could arrive. */
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
