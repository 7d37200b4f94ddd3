/**
 * Finds the outcome of a payment on the chain alone: whether its authorization was used, in which transaction, and
 * whether that moved the signed amount. Each node is read independently; see nodes/rpcNodes.ts for the quorum.
 */
import type { Hex } from 'viem';
import type { PaymentNetworkSettings } from '../../../domain/payments/networkSettings.ts';
import type { ChainNode } from '../nodes/chainNode.ts';
import { combineSightings, type Sighting } from '../nodes/rpcNodes.ts';
import { type PaymentLookup, type SignedPayment, UsedBefore } from '../paymentNetwork.ts';
import type { Chain } from './chain.ts';
import { findUse, type UseQuery } from './findUse.ts';
import { type Block, depthOf, type Log, type Receipt, readBlock, readReceipt, readWaiting } from './readChain.ts';
import { asTopic, CANCELED_EVENT, isAuthorizationUsed, TRANSFER_EVENT, USED_EVENT } from './token.ts';
import { signedOf } from './verifyPayment.ts';

type EvmSighting = Sighting<{ block: string }> | { state: 'absent'; gone: false; usedBefore: true };

export interface EvmPaymentFinder {
  chain: Chain;
  settings: PaymentNetworkSettings;
}

/** Throws ChainUnavailable. */
export async function findPayment(
  { chain, settings }: EvmPaymentFinder,
  payment: SignedPayment,
  { signal, transaction }: { signal: AbortSignal; transaction: string | undefined },
): Promise<PaymentLookup> {
  const hint = transaction !== undefined && /^0x[0-9a-fA-F]{64}$/.test(transaction) ? transaction : undefined;
  const sought: UseQuery = {
    // From the payment: the configuration may have changed.
    token: payment.asset as Hex,
    confirmations: BigInt(settings.confirmations),
    payment,
    hint: hint?.toLowerCase(),
    // A facilitator must finish its own transactions.
    isOurs: settings.facilitatorUrl === undefined,
  };
  const readings = await chain.readings((node) => readFrom(node, sought), signal);
  const { agreed } = readings;
  if (agreed !== undefined && 'usedBefore' in agreed.value) {
    throw new UsedBefore('the authorization was used, but no event says where');
  }
  return combineSightings(readings, payment, 'the authorization was used, but did not move what was signed');
}

async function readFrom(node: ChainNode, sought: UseQuery): Promise<EvmSighting> {
  const named = sought.hint === undefined ? undefined : await readTransaction(node, sought, sought.hint);
  if (named !== undefined) return named;
  const latest = await readBlock(node, 'latest');
  const { from, nonce } = signedOf(sought.payment).authorization;
  const block = `0x${latest.number.toString(16)}`;
  if (!(await isAuthorizationUsed(node, sought.token, { block, from, nonce }))) {
    if (await isOver(node, sought, latest)) return { state: 'absent', gone: true };
    return { state: 'absent', gone: false, ...(await fateOfOwn(node, sought, latest)) };
  }
  const use = await findUse(node, sought, latest);
  if (use === undefined) return { state: 'absent', gone: false, usedBefore: true };
  if (use.topics[0] === CANCELED_EVENT) {
    const depth = await depthOf(node, use, sought.confirmations);
    return { state: 'absent', gone: depth === 'deep' };
  }
  return (await readTransaction(node, sought, use.transactionHash)) ?? { state: 'absent', gone: false };
}

/**
 * Nodes drop transactions that wait too long, and those replaced by one with the same nonce. A fee below the base fee
 * keeps a transaction, and all later ones, waiting.
 */
async function fateOfOwn(
  node: ChainNode,
  { hint, isOurs }: UseQuery,
  { baseFeePerGas = 0n }: Block,
): Promise<{ dropped?: true; stuck?: true }> {
  if (!isOurs || hint === undefined) return {};
  const waiting = await readWaiting(node, hint);
  if (waiting === undefined) return { dropped: true };
  return !waiting.isMined && waiting.maxFeePerGas < baseFeePerGas ? { stuck: true } : {};
}

/** Undefined: unrelated to this payment, or not in a block (any more). */
async function readTransaction(node: ChainNode, sought: UseQuery, hash: string): Promise<EvmSighting | undefined> {
  const receipt = await readReceipt(node, hash);
  if (receipt === undefined || receipt.status !== '0x1') return undefined;
  const used = receipt.logs.findIndex((log) => isUse(log, sought));
  if (used === -1) return undefined;
  const depth = await depthOf(node, receipt, sought.confirmations);
  if (depth === 'replaced') return undefined;
  const about = { transaction: receipt.transactionHash, block: receipt.blockHash };
  if (depth === 'shallow') return { state: 'pending', ...about };
  return { state: movedWhatWasSigned(receipt, used, sought) ? 'final' : 'wrong', ...about };
}

function isUse(log: Log, { token, payment }: UseQuery): boolean {
  const [event, authorizer, nonce] = log.topics;
  return (
    log.address === token &&
    event === USED_EVENT &&
    authorizer === asTopic(payment.payer.address) &&
    nonce === payment.nonce
  );
}

/**
 * The transfer must be the very next event, because the token emits both together. Elsewhere in the transaction it may
 * belong to another authorization, which is credited separately.
 */
function movedWhatWasSigned({ logs }: Receipt, used: number, { token, payment }: UseQuery): boolean {
  const place = logs[used]?.logIndex;
  const next = logs.find(({ logIndex }) => place !== undefined && logIndex === place + 1n);
  if (next === undefined || next.address !== token || next.topics.length !== 3) return false;
  const [event, from, to] = next.topics;
  return (
    event === TRANSFER_EVENT &&
    from === asTopic(payment.payer.address) &&
    to === asTopic(payment.payTo) &&
    /^0x[0-9a-f]{64}$/.test(next.data) &&
    BigInt(next.data) === BigInt(payment.amount)
  );
}

/** The time is over in a final block: from there on the token refuses it, and it was not used before. */
async function isOver(node: ChainNode, { confirmations, payment }: UseQuery, latest: Block): Promise<boolean> {
  const end = BigInt(payment.validBefore ?? '0');
  if (latest.timestamp < end || latest.number < confirmations) return false;
  const deep = latest.number - confirmations;
  return (await readBlock(node, `0x${deep.toString(16)}`)).timestamp >= end;
}
