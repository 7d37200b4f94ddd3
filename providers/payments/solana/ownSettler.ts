/** Settles with a key of this service: signs as the fee payer and submits the transaction. */
import { getBase58Decoder } from '@solana/kit';
import { type ChainNode, NodeRefused } from '../nodes/chainNode.ts';
import type { RpcNodes } from '../nodes/rpcNodes.ts';
import type { SettleOutcome, Settler, SettleTerms, SignedPayment } from '../paymentNetwork.ts';
import { type PaymentTransaction, toWire } from './decodeTransaction.ts';
import { feeOf } from './exactTransfer.ts';
import type { FeeKey } from './feeKey.ts';
import { isSignatureKnown } from './readNode.ts';
import { transactionOf } from './readPayment.ts';

/** Id of the transaction on the network, if `key` is its fee payer; otherwise undefined. */
export function ownSignature(transaction: PaymentTransaction, key: FeeKey): string | undefined {
  if (transaction.feePayer !== key.address) return undefined;
  return getBase58Decoder().decode(key.sign(transaction.messageBytes));
}

export function createOwnSettler({ nodes, key }: { nodes: RpcNodes; key: FeeKey }): Settler {
  return {
    settle: (payment, signal, terms) => settle({ nodes, key, ...terms }, payment, signal),
    close: async () => undefined,
  };
}

/**
 * Sends to every node, and may repeat: the network executes the same transaction once. A node that refuses has
 * simulated the transaction and forwarded nothing.
 */
async function settle(
  { nodes, key, approveFee = async () => true }: { nodes: RpcNodes; key: FeeKey } & SettleTerms,
  payment: SignedPayment,
  signal: AbortSignal,
): Promise<SettleOutcome> {
  const signed = transactionOf(payment);
  const transaction = ownSignature(signed, key);
  if (transaction === undefined) {
    return { outcome: 'refused', reason: 'the fee payer is not the key of this service' };
  }
  if (!(await approveFee(feeOf(signed)))) {
    return { outcome: 'refused', reason: 'the budget of fees for today is used up' };
  }
  const wire = Buffer.from(toWire(signed, key.sign(signed.messageBytes))).toString('base64');
  const replies = await nodes.each((node) => send(node, wire, transaction), signal);
  if (replies.some(({ kind }) => kind === 'taken')) return { outcome: 'sent', transaction };
  if (replies.length < nodes.nodeCount || replies.some(({ kind }) => kind === 'unclear')) {
    return { outcome: 'unknown', reason: 'not every node said whether it took the transaction', transaction };
  }
  return { outcome: 'refused', reason: replies.map(({ words }) => words).join('; ') };
}

interface SolanaBroadcastReply {
  kind: 'taken' | 'refused' | 'unclear';
  words: string;
}

async function send(node: ChainNode, wire: string, transaction: string): Promise<SolanaBroadcastReply> {
  try {
    const told = await node.call('sendTransaction', [wire, { encoding: 'base64', preflightCommitment: 'confirmed' }]);
    return { kind: told === transaction ? 'taken' : 'unclear', words: 'the name of another transaction' };
  } catch (error) {
    const words = error instanceof Error ? error.message : '';
    if (!(error instanceof NodeRefused)) return { kind: 'unclear', words };
    // The transaction may be on the chain already, or was submitted before and has expired.
    const known = await isSignatureKnown(node, transaction).catch(() => undefined);
    if (known === undefined) return { kind: 'unclear', words };
    return { kind: known ? 'taken' : 'refused', words };
  }
}
