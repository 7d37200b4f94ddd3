/** Payment network with scripted answers and counted calls. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SignedPayment } from '../../domain/payments/signedPayment.ts';
import type { PaymentLookup, PaymentNetwork, SettleOutcome } from '../../providers/payments/paymentNetwork.ts';

export const NETWORK = 'eip155:84532';

type Said<T> = T | Error | ((call: number) => T | Error | Promise<T>);

export interface Script {
  verify?: Said<undefined>;
  settle?: Said<SettleOutcome>;
  /** Answer after `settle`. */
  find?: Said<PaymentLookup>;
  /** Answer before `settle`. Default: absent. */
  findFirst?: Said<PaymentLookup>;
}

export interface ScriptedNetwork extends PaymentNetwork {
  /** Replaces the script and resets the counts. */
  play(script: Script): void;
  /** The transaction that each settlement was to replace. */
  readonly replaced: (string | undefined)[];
  readonly calls: { verify: number; settle: number; find: number };
}

export const ABSENT: PaymentLookup = { state: 'absent', gone: false };
export const GONE: PaymentLookup = { state: 'absent', gone: true };
export const DROPPED: PaymentLookup = { state: 'absent', gone: false, dropped: true };
export const STUCK: PaymentLookup = { state: 'absent', gone: false, stuck: true };
export const TRANSACTION = `0x${'ab'.repeat(32)}`;
export const FINAL: PaymentLookup = { state: 'final', transaction: TRANSACTION, amount: '5000000' };
export const PENDING: PaymentLookup = { state: 'pending', transaction: TRANSACTION };
export const WRONG: PaymentLookup = {
  state: 'wrong',
  transaction: TRANSACTION,
  reason: 'cancelled by its payer',
};
export const SENT: SettleOutcome = { outcome: 'sent', transaction: TRANSACTION };
export const REFUSED: SettleOutcome = { outcome: 'refused', reason: 'insufficient_funds' };
export const UNKNOWN: SettleOutcome = { outcome: 'unknown', reason: 'the connection broke' };

export function scriptedNetwork(): ScriptedNetwork {
  let script: Script = {};
  const calls = { verify: 0, settle: 0, find: 0 };
  const replaced: (string | undefined)[] = [];
  let sinceSettle = 0;
  return {
    network: NETWORK,
    names: ['base-sepolia'],
    decimals: 6,
    feeBudget: 1_000_000n,
    calls,
    replaced,
    play(next) {
      replaced.length = 0;
      script = next;
      Object.assign(calls, { verify: 0, settle: 0, find: 0 });
      sinceSettle = 0;
    },
    offer: (amount) =>
      Promise.resolve({
        scheme: 'exact',
        network: NETWORK,
        amount,
        asset: `0x${'0a'.repeat(20)}`,
        payTo: `0x${'0b'.repeat(20)}`,
        maxTimeoutSeconds: 300,
        extra: { name: 'USD Coin', version: '2' },
      }),
    read: (envelope) => Promise.resolve(envelope.payload.payment as SignedPayment),
    async verify() {
      calls.verify += 1;
      await say(script.verify, calls.verify, undefined);
    },
    async settle(_payment, signal, terms) {
      replaced.push(terms?.replaces);
      calls.settle += 1;
      // The caller's signal ends a hanging call, as in a real network.
      const cut = new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
      const said = await Promise.race([say(script.settle, calls.settle, SENT), cut]);
      sinceSettle = 0;
      return said;
    },
    async find() {
      calls.find += 1;
      if (calls.settle === 0) return await say(script.findFirst, calls.find, ABSENT);
      sinceSettle += 1;
      return await say(script.find, sinceSettle, FINAL);
    },
  };
}

async function say<T>(said: Said<T> | undefined, call: number, otherwise: T): Promise<T> {
  const answer = typeof said === 'function' ? await (said as (call: number) => T)(call) : (said ?? otherwise);
  await sleep(1);
  if (answer instanceof Error) throw answer;
  return answer;
}

/** A payment of five dollars by a new wallet. */
export function somePayment(changes: Partial<SignedPayment> = {}): SignedPayment {
  const nonce = `0x${randomBytes(32).toString('hex')}`;
  return {
    network: NETWORK,
    asset: `0x${'0a'.repeat(20)}`,
    payer: { family: 'evm', address: `0x${randomBytes(20).toString('hex')}` },
    payTo: `0x${'0b'.repeat(20)}`,
    amount: '5000000',
    nonce,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1_000) + 300),
    payload: { signature: '0x00', authorization: { nonce } },
    ...changes,
  };
}
