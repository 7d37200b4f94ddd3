/**
 * Hands payments in with a key of the operator's. Several processes may share the key: the account's next number is asked
 * for each time, and a number that another process took meanwhile is answered by taking the next one. A payment that is
 * thereby sent twice cannot move money twice: its authorization is used up by the first one, and the second is reverted.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { keccak256 } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import type { PaymentNetworkSettings } from '../../../domain/payments/networkSettings.ts';
import type { SettleOutcome, SignedPayment } from '../paymentNetwork.ts';
import type { Settler } from '../settler.ts';
import type { Chain } from './chain.ts';
import { bytes, CallReverted, type ChainNode, NodeRefused, quantity } from './node.ts';
import { readBlock } from './readChain.ts';
import { isByPayersKey } from './readPayment.ts';
import { isAuthorizationUsed, transferCall } from './token.ts';
import { MOST_TRANSFER_GAS, signedOf } from './verifyPayment.ts';

type Hex = `0x${string}`;

const GWEI = 1_000_000_000n;
/** Beyond it nothing is handed in: a top-up of 5 USD must not cost more than itself. */
const MOST_FEE_PER_GAS = 300n * GWEI;
const MOST_TIP_PER_GAS = 5n * GWEI;
/** Where a node knows of none. */
const USUAL_TIP_PER_GAS = GWEI / 1_000n;
const MOST_TRIES = 20;
/** Two processes that collided wait for different times, or they would collide again. */
const LONGEST_PAUSE_MS = 200;
/** Payments of this process that wait for their turn. */
const MOST_WAITING = 256;

export interface OwnSettlerOptions {
  chain: Chain;
  settings: PaymentNetworkSettings;
  privateKey: Hex;
}

export function createOwnSettler({ chain, settings, privateKey }: OwnSettlerOptions): Settler {
  const account = privateKeyToAccount(privateKey);
  const desk: Desk = { chain, settings, account };
  let turn: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return {
    async settle(payment, signal) {
      if (waiting >= MOST_WAITING) return refused('too many payments are being handed in');
      waiting += 1;
      // One at a time: two of this process must not take the same number.
      const mine = turn.then(() => handIn(desk, payment, signal)).finally(() => (waiting -= 1));
      turn = mine.catch(() => undefined);
      return await mine;
    },
    close: async () => undefined,
  };
}

interface Desk {
  chain: Chain;
  settings: PaymentNetworkSettings;
  account: PrivateKeyAccount;
}

async function handIn(desk: Desk, payment: SignedPayment, signal: AbortSignal): Promise<SettleOutcome> {
  const signed = signedOf(payment);
  const data = transferCall(signed, !(await isByPayersKey(signed, desk.settings)));
  let leastNonce = 0;
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    signal.throwIfAborted();
    const preparations = await desk.chain.each((node) => prepare(node, { desk, payment, data }), signal);
    const order = orderOf(preparations, leastNonce);
    if ('outcome' in order) return order;
    const sent = await broadcast(desk, { ...order, data }, signal);
    if (sent !== 'number taken') return sent;
    leastNonce = order.nonce + 1;
    await sleep(Math.random() * Math.min(LONGEST_PAUSE_MS, 5 * 2 ** tries), undefined, { signal });
  }
  return refused('the number of the settling account was taken each time');
}

interface Asked {
  desk: Desk;
  payment: SignedPayment;
  data: Hex;
}

type Preparation =
  | { ready: true; nonce: bigint; gas: bigint; baseFee: bigint; tip: bigint }
  | { ready: false; used: boolean };

/** What one node says of sending it now. */
async function prepare(node: ChainNode, { desk, payment, data }: Asked): Promise<Preparation> {
  const token = desk.settings.asset as Hex;
  const from = desk.account.address;
  try {
    const [gas, nonce, latest, tip] = await Promise.all([
      node.call('eth_estimateGas', [{ from, to: token, data }]).then(quantity),
      node.call('eth_getTransactionCount', [from, 'pending']).then(quantity),
      readBlock(node, 'latest'),
      node.call('eth_maxPriorityFeePerGas', []).then(quantity, tipOf),
    ]);
    return { ready: true, nonce, gas, baseFee: latest.baseFeePerGas ?? 0n, tip };
  } catch (error) {
    if (!(error instanceof CallReverted)) throw error;
    const about = { from: payment.payer.address as Hex, nonce: payment.nonce as Hex };
    const [now, soon] = await Promise.all(
      ['latest', 'pending'].map((block) => isAuthorizationUsed(node, token, { block, ...about })),
    );
    return { ready: false, used: now === true || soon === true };
  }
}

function tipOf(error: unknown): bigint {
  if (error instanceof NodeRefused) return USUAL_TIP_PER_GAS;
  throw error;
}

interface Order {
  nonce: number;
  gas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** Of several nodes the one that is furthest ahead counts; what they say of fees only up to our own bounds. */
function orderOf(preparations: readonly Preparation[], leastNonce: number): Order | SettleOutcome {
  const ready = preparations.filter((preparation) => preparation.ready);
  if (preparations.length === 0) return refused('no node answers');
  if (ready.length === 0) {
    return preparations.some((preparation) => !preparation.ready && preparation.used)
      ? { outcome: 'unknown', reason: 'the authorization is used already' }
      : refused('the token refuses the authorization');
  }
  const gas = (most(ready.map((one) => one.gas)) * 13n) / 10n;
  const baseFee = most(ready.map((one) => one.baseFee));
  if (gas > MOST_TRANSFER_GAS) return refused('the transfer takes too much gas');
  if (baseFee > MOST_FEE_PER_GAS) return refused('the fees of the network are too high');
  const told = most(ready.map((one) => one.tip));
  const tip = told < MOST_TIP_PER_GAS ? told : MOST_TIP_PER_GAS;
  const fee = 2n * baseFee + tip;
  const nonce = Number(most([...ready.map((one) => one.nonce), BigInt(leastNonce)]));
  const maxFeePerGas = fee < MOST_FEE_PER_GAS ? fee : MOST_FEE_PER_GAS;
  return { nonce, gas, maxFeePerGas, maxPriorityFeePerGas: tip < maxFeePerGas ? tip : maxFeePerGas };
}

function most(values: readonly bigint[]): bigint {
  return values.toSorted((one, other) => (one < other ? 1 : -1))[0] ?? 0n;
}

async function broadcast(
  { chain, settings, account }: Desk,
  order: Order & { data: Hex },
  signal: AbortSignal,
): Promise<SettleOutcome | 'number taken'> {
  const to = settings.asset as Hex;
  const chainId = Number(chain.chainId);
  const raw = await account.signTransaction({ type: 'eip1559', chainId, to, value: 0n, ...order });
  const transaction = keccak256(raw);
  const replies = await chain
    .each((node) => send(node, raw, transaction), signal)
    .catch((error: unknown) => {
      if (signal.aborted) throw error;
      return [];
    });
  const has = (reply: Reply['kind']) => replies.some(({ kind }) => kind === reply);
  if (has('taken')) return { outcome: 'sent', transaction };
  if (has('number taken') && !has('unclear')) return 'number taken';
  if (replies.length < chain.nodeCount || has('unclear')) {
    return { outcome: 'unknown', reason: 'not every node said whether it took the transaction', transaction };
  }
  return refused(replies.map(({ words }) => words).join('; '));
}

interface Reply {
  kind: 'taken' | 'number taken' | 'refused' | 'unclear';
  words: string;
}

async function send(node: ChainNode, raw: Hex, transaction: Hex): Promise<Reply> {
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
