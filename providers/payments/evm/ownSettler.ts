/**
 * Submits payments with a key of the operator. Several processes may share the key. Each reads the account's next
 * nonce, and retries with the following one if another process took it. A payment sent twice moves money once: the
 * second transaction reverts, because the authorization is used.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Hex, keccak256 } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { PaymentNetworkSettings } from '../../../domain/payments/networkSettings.ts';
import { type ChainNode, NodeRefused } from '../nodes/chainNode.ts';
import type { SettleOutcome, Settler, SettleTerms, SignedPayment } from '../paymentNetwork.ts';
import { bytes, CallReverted, type Chain, quantity } from './chain.ts';
import { type Fees, MAX_FEE_PER_GAS, type Price, pricedNow, priceOf, raisedPrice, readFees } from './fees.ts';
import { readWaiting } from './readChain.ts';
import { isByPayersKey } from './readPayment.ts';
import { isAuthorizationUsed, transferCall } from './token.ts';
import { MAX_TRANSFER_GAS, signedOf } from './verifyPayment.ts';

const MAX_TRIES = 20;
/** Random pauses keep two processes from colliding again. */
const MAX_PAUSE_MS = 200;
/** Limit of payments that wait in this process. */
const MAX_WAITING = 256;
const NO_BUDGET = 'the budget of fees for today is used up';

export interface OwnSettlerOptions {
  chain: Chain;
  settings: PaymentNetworkSettings;
  /** Account that pays the fees. */
  account: PrivateKeyAccount;
}

export function createOwnSettler(options: OwnSettlerOptions): Settler {
  let turn: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return {
    async settle(payment, signal, { approveFee = async () => true, replaces } = {}) {
      if (waiting >= MAX_WAITING) return refused('too many payments are being handed in');
      waiting += 1;
      // One at a time, so that two payments of this process never take the same nonce.
      const mine = turn
        .then(() => handIn(options, payment, { signal, approveFee, replaces }))
        .finally(() => (waiting -= 1));
      turn = mine.catch(() => undefined);
      return await mine;
    },
    close: async () => undefined,
  };
}

interface Terms extends Required<SettleTerms> {
  signal: AbortSignal;
}

async function handIn(options: OwnSettlerOptions, payment: SignedPayment, terms: Terms): Promise<SettleOutcome> {
  const signed = signedOf(payment);
  const data = transferCall(signed, !(await isByPayersKey(signed, options.settings)));
  const request: SettlementRequest = { options, payment, data };
  const replaced = terms.replaces === undefined ? undefined : await replace(request, terms.replaces, terms);
  if (replaced !== undefined) return replaced;
  const { signal } = terms;
  let leastNonce = 0;
  let approved = 0n;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    signal.throwIfAborted();
    const preparations = await options.chain.each((node) => prepare(node, request), signal);
    const order = orderOf(preparations, leastNonce);
    if ('outcome' in order) return order;
    const fee = order.gas * order.maxFeePerGas;
    if (fee > approved && !(await terms.approveFee(fee - approved))) return refused(NO_BUDGET);
    approved = fee > approved ? fee : approved;
    const sent = await broadcast(request, order, signal);
    if (sent !== 'number taken') return sent;
    leastNonce = order.nonce + 1;
    await sleep(Math.random() * Math.min(MAX_PAUSE_MS, 5 * 2 ** tries), undefined, { signal });
  }
  return refused('the number of the settling account was taken each time');
}

interface SettlementRequest {
  options: OwnSettlerOptions;
  payment: SignedPayment;
  data: Hex;
}

/**
 * Raises the fee of a pending transaction with the same nonce, so that only one of the two can succeed. If this fails,
 * the earlier one is still pending. Undefined: no node knows it any more, so another nonce may be used.
 */
async function replace(
  request: SettlementRequest,
  transaction: string,
  { signal, approveFee }: Terms,
): Promise<SettleOutcome | undefined> {
  const waits = (reason: string): SettleOutcome => ({ outcome: 'unknown', reason, transaction });
  const read = async (node: ChainNode) => ({
    waiting: await readWaiting(node, transaction),
    fees: await readFees(node),
  });
  const readings = await request.options.chain.each(read, signal);
  if (readings.length === 0) return waits('no node answers');
  const { waiting, fees } = readings.find((reading) => reading.waiting !== undefined) ?? {};
  if (waiting === undefined || fees === undefined) return undefined;
  if (waiting.isMined) return waits('it is in a block by now');
  const price = raisedPrice(fees, waiting);
  if (price === undefined) return waits('the fees of the network are too high');
  const { gas, nonce } = waiting;
  if (!(await approveFee(gas * (price.maxFeePerGas - waiting.maxFeePerGas)))) return waits(NO_BUDGET);
  const sent = await broadcast(request, { gas, nonce, ...price }, signal);
  return typeof sent !== 'string' && sent.outcome === 'sent' ? sent : waits('its fee could not be raised');
}

type Preparation = { ready: true; nonce: bigint; gas: bigint; fees: Fees } | { ready: false; used: boolean };

/** Prepares the transaction at one node. */
async function prepare(node: ChainNode, { options, payment, data }: SettlementRequest): Promise<Preparation> {
  const token = payment.asset as Hex;
  const from = options.account.address;
  const fees = await readFees(node);
  try {
    const [gas, nonce] = await Promise.all([
      node.call('eth_estimateGas', [{ from, to: token, data, ...pricedNow(fees) }]).then(quantity),
      node.call('eth_getTransactionCount', [from, 'pending']).then(quantity),
    ]);
    return { ready: true, nonce, gas, fees };
  } catch (error) {
    if (!(error instanceof CallReverted)) throw error;
    const about = { from: payment.payer.address as Hex, nonce: payment.nonce as Hex };
    const [now, soon] = await Promise.all(
      ['latest', 'pending'].map((block) => isAuthorizationUsed(node, token, { block, ...about })),
    );
    return { ready: false, used: now === true || soon === true };
  }
}

interface TransactionTerms extends Price {
  nonce: number;
  gas: bigint;
}

/** Uses the highest values of all nodes, with fees within `MAX_FEE_PER_GAS`. */
function orderOf(preparations: readonly Preparation[], leastNonce: number): TransactionTerms | SettleOutcome {
  const ready = preparations.filter((preparation) => preparation.ready);
  if (preparations.length === 0) return refused('no node answers');
  if (ready.length === 0) {
    return preparations.some((preparation) => !preparation.ready && preparation.used)
      ? { outcome: 'unknown', reason: 'the authorization is used already' }
      : refused('the token refuses the authorization');
  }
  const gas = (most(ready.map((one) => one.gas)) * 13n) / 10n;
  const baseFee = most(ready.map(({ fees }) => fees.baseFee));
  if (gas > MAX_TRANSFER_GAS) return refused('the transfer takes too much gas');
  if (baseFee > MAX_FEE_PER_GAS) return refused('the fees of the network are too high');
  const tip = most(ready.map(({ fees }) => fees.tip));
  const nonce = Number(most([...ready.map((one) => one.nonce), BigInt(leastNonce)]));
  return { nonce, gas, ...priceOf({ baseFee, tip }) };
}

function most(values: readonly bigint[]): bigint {
  return values.toSorted((one, other) => (one < other ? 1 : -1))[0] ?? 0n;
}

async function broadcast(
  { options: { chain, account }, payment, data }: SettlementRequest,
  order: TransactionTerms,
  signal: AbortSignal,
): Promise<SettleOutcome | 'number taken'> {
  const to = payment.asset as Hex;
  const chainId = Number(chain.chainId);
  const raw = await account.signTransaction({ type: 'eip1559', chainId, to, value: 0n, data, ...order });
  const transaction = keccak256(raw);
  const replies = await chain.each((node) => send(node, raw, transaction), signal);
  const has = (reply: EvmBroadcastReply['kind']) => replies.some(({ kind }) => kind === reply);
  if (has('taken')) return { outcome: 'sent', transaction };
  if (has('number taken') && !has('unclear')) return 'number taken';
  if (replies.length < chain.nodeCount || has('unclear')) {
    return { outcome: 'unknown', reason: 'not every node said whether it took the transaction', transaction };
  }
  return refused(replies.map(({ words }) => words).join('; '));
}

interface EvmBroadcastReply {
  kind: 'taken' | 'number taken' | 'refused' | 'unclear';
  words: string;
}

async function send(node: ChainNode, raw: Hex, transaction: Hex): Promise<EvmBroadcastReply> {
  try {
    const told = bytes(await node.call('eth_sendRawTransaction', [raw]));
    return { kind: told === transaction ? 'taken' : 'unclear', words: 'the hash of another transaction' };
  } catch (error) {
    const words = error instanceof Error ? error.message : '';
    if (error instanceof CallReverted) return { kind: 'refused', words };
    if (!(error instanceof NodeRefused)) return { kind: 'unclear', words };
    if (/already known|known transaction|already imported|already exists/i.test(words)) {
      return { kind: 'taken', words };
    }
    const isTaken = /nonce (is )?too low|old nonce|replacement|same nonce/i.test(words);
    return { kind: isTaken ? 'number taken' : 'refused', words };
  }
}

function refused(reason: string): SettleOutcome {
  return { outcome: 'refused', reason };
}
