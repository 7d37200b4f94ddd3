/** Activities of a top-up, each repeated: a payment is submitted once per settlement, and credited once. */
import { ApplicationFailure } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import { concludeTopUp, examineTopUp, recordTopUp, settleTopUp, watchTopUp } from '../../activities/topUp.ts';
import type { TopUpVerdict } from '../../activities/types.ts';
import type { SignedPayment } from '../../domain/payments/signedPayment.ts';
import { paymentIdOf, readTopUp } from '../../infra/postgres/topUps.ts';
import { walletAccountId } from '../../infra/postgres/walletAccounts.ts';
import type { PaymentLookup, SettleOutcome } from '../../providers/payments/paymentNetwork.ts';
import type { TopUpInput } from '../../workflows/contract.ts';
import { createLedgerWorld, type LedgerWorld } from '../infra/postgres/ledgerWorld.ts';
import {
  ABSENT,
  FINAL,
  GONE,
  NETWORK,
  PENDING,
  REFUSED,
  SENT,
  scriptedNetwork,
  somePayment,
  TRANSACTION,
  UNKNOWN,
  WRONG,
} from '../payments/scriptedNetwork.ts';

const GONE_MS = 60_000;
const network = scriptedNetwork();
let world: LedgerWorld;
let lines: [level: string, words: string][];
let dependencies: ActivityDependencies;
beforeAll(async () => {
  world = await createLedgerWorld();
  const tell = (level: string) => (_fields: object, words: string) => void lines.push([level, words]);
  dependencies = {
    ...{ pool: world.pool, payments: new Map([[NETWORK, network]]), topUpGoneMs: GONE_MS },
    log: { info: tell('info'), warn: tell('warn'), error: tell('error') },
  } as unknown as ActivityDependencies;
});
afterAll(async () => {
  await world.expectSound();
  await world.close();
});
beforeEach(() => {
  lines = [];
  network.play({});
});

const inputOf = (payment: SignedPayment): TopUpInput => ({
  paymentId: paymentIdOf(payment),
  accountId: walletAccountId(payment.payer),
  ...{ requestId: 'request', payment, decimals: 6 },
});
const run = <T>(step: () => Promise<T>, attempt = 1) =>
  new MockActivityEnvironment({ attempt }).run<[], T, () => Promise<T>>(step);
const record = (payment: SignedPayment) => run(() => recordTopUp(dependencies, inputOf(payment)));
const settle = (paymentId: string, settlement = 1) => run(() => settleTopUp(dependencies, { paymentId, settlement }));
const conclude = (paymentId: string, verdict: TopUpVerdict) =>
  run(() => concludeTopUp(dependencies, { paymentId, verdict }));
const creditOf = async (paymentId: string) => (await readTopUp(world.pool, paymentId)).creditedNano;

/** Returns a payment that was recorded and submitted with this outcome. */
async function handedIn(outcome: SettleOutcome = SENT): Promise<{ payment: SignedPayment; paymentId: string }> {
  const payment = somePayment();
  const { paymentId } = inputOf(payment);
  network.play({ settle: outcome, find: ABSENT });
  await record(payment);
  await settle(paymentId);
  return { payment, paymentId };
}

describe('a recorded payment', () => {
  it('is recorded once, however often it is presented', async () => {
    const payment = somePayment();
    const first = await record(payment);
    expect(first).toEqual({ state: 'recorded', settlements: 0 });
    expect(await record(payment)).toEqual(first);
    expect(network.calls.settle).toBe(0);
  });

  it('that failed is resumed only when the chain has it after all', async () => {
    const payment = somePayment();
    await record(payment);
    await conclude(paymentIdOf(payment), { found: 'gone' });
    network.play({ findFirst: ABSENT });
    expect(await record(payment)).toMatchObject({ state: 'failed' });
    network.play({ findFirst: FINAL });
    expect(await record(payment)).toMatchObject({ state: 'sent', transaction: TRANSACTION });
  });
});

describe('a submitted payment', () => {
  it.each<[string, SettleOutcome, PaymentLookup, string]>([
    ['is sent', SENT, ABSENT, 'sent'],
    ['is of unknown fate', UNKNOWN, ABSENT, 'unknown'],
    ['is refused, and the chain does not have it', REFUSED, ABSENT, 'refused'],
    ['is said to be refused, and the chain has it', REFUSED, PENDING, 'unknown'],
  ])('%s', async (_what, outcome, found, state) => {
    const payment = somePayment();
    const { paymentId } = inputOf(payment);
    await record(payment);
    network.play({ settle: outcome, find: found });
    expect(await settle(paymentId)).toMatchObject({ state, settlements: 1 });
    expect(network.calls.settle).toBe(1);
  });

  it('is not submitted again when the activity is repeated', async () => {
    for (const outcome of [SENT, UNKNOWN, REFUSED]) {
      const { paymentId } = await handedIn(outcome);
      const before = await readTopUp(world.pool, paymentId);
      expect(await settle(paymentId)).toMatchObject({ state: before.state, settlements: 1 });
      expect(network.calls.settle).toBe(1);
    }
  });

  it('is submitted by one of two simultaneous attempts', async () => {
    const payment = somePayment();
    const { paymentId } = inputOf(payment);
    await record(payment);
    network.play({ find: ABSENT });
    await Promise.all([settle(paymentId), settle(paymentId), settle(paymentId)]);
    expect(network.calls.settle).toBe(1);
    expect(await readTopUp(world.pool, paymentId)).toMatchObject({ settlements: 1 });
  });

  it('has an unknown outcome after its activity died, and is not submitted again for that', async () => {
    const payment = somePayment();
    const { paymentId } = inputOf(payment);
    await record(payment);
    await world.owner.query(`update top_ups set state = 'settling', settlements = 1 where id = $1`, [paymentId]);
    expect(await settle(paymentId)).toMatchObject({ state: 'unknown', reason: 'the step was interrupted' });
    expect(network.calls.settle).toBe(0);
  });

  it.each<[string, PaymentLookup, string]>([
    ['that the chain has is not handed in', PENDING, 'sent'],
    ['that the chain has for good is not handed in', FINAL, 'sent'],
    ['that was used otherwise is over', WRONG, 'wrong'],
    ['that can never come is not handed in', GONE, 'unknown'],
  ])('%s', async (_what, findFirst, state) => {
    const payment = somePayment();
    const { paymentId } = inputOf(payment);
    await record(payment);
    network.play({ findFirst });
    expect(await settle(paymentId)).toMatchObject({ state });
    expect(network.calls.settle).toBe(0);
    expect(await creditOf(paymentId)).toBeUndefined();
  });
});

describe('a look at the chain', () => {
  it.each<[PaymentLookup, TopUpVerdict]>([
    [FINAL, { found: 'final', units: '5000000', transaction: TRANSACTION }],
    [WRONG, { found: 'wrong', transaction: TRANSACTION, reason: 'cancelled by its payer' }],
  ])('that finds %j is a verdict', async (found, verdict) => {
    const { paymentId } = await handedIn();
    network.play({ findFirst: found });
    expect(await run(() => watchTopUp(dependencies, { paymentId }))).toEqual(verdict);
  });

  it.each<[string, PaymentLookup]>([
    ['not deep enough', PENDING],
    ['not there yet', ABSENT],
  ])('that finds it %s is tried again, which is no failure', async (_what, findFirst) => {
    const { paymentId } = await handedIn();
    network.play({ findFirst });
    const look = run(() => watchTopUp(dependencies, { paymentId }), 2);
    await expect(look).rejects.toBeInstanceOf(ApplicationFailure);
    await expect(look).rejects.toMatchObject({
      type: 'StillSettling',
      category: 'BENIGN',
      nonRetryable: false,
    });
  });

  it('reports the payment as gone only when a second check after a while agrees', async () => {
    const { paymentId } = await handedIn();
    network.play({ findFirst: GONE });
    const watch = (attempt: number) => run(() => watchTopUp(dependencies, { paymentId }), attempt);
    await expect(watch(2)).rejects.toMatchObject({ type: 'StillSettling' });
    network.play({ findFirst: PENDING });
    await expect(watch(3)).rejects.toMatchObject({ type: 'StillSettling' });
    network.play({ findFirst: GONE });
    await expect(watch(4)).rejects.toMatchObject({ type: 'StillSettling' });
    await world.owner.query(`update top_ups set gone_at = gone_at - interval '2 minutes' where id = $1`, [paymentId]);
    expect(await watch(5)).toEqual({ found: 'gone' });
  });

  it('of a refused payment waits longer each time, and returns a verdict where there is one', async () => {
    const { paymentId } = await handedIn(REFUSED);
    const examine = (looks: number) => run(() => examineTopUp(dependencies, { paymentId, looks }));
    network.play({ findFirst: ABSENT });
    const pauses = [await examine(0), await examine(1), await examine(2)].map(({ pauseMs }) => pauseMs);
    expect(pauses).toEqual([2_000, 4_000, 8_000]);
    network.play({ findFirst: FINAL });
    expect(await examine(3)).toMatchObject({ verdict: { found: 'final' }, stand: { state: 'refused' } });
  });
});

describe('the end of a top-up', () => {
  it('credits once the amount that the chain says was paid', async () => {
    const { payment, paymentId } = await handedIn();
    const verdict: TopUpVerdict = { found: 'final', units: '5000000', transaction: TRANSACTION };
    const first = await conclude(paymentId, verdict);
    expect(first).toMatchObject({ state: 'credited', creditedUsd: '5000000000', transaction: TRANSACTION });
    expect(await conclude(paymentId, verdict)).toEqual(first);
    expect(await conclude(paymentId, { found: 'gone' })).toEqual(first);
    expect(await world.balance(walletAccountId(payment.payer))).toMatchObject({ usd: 5_000_000_000n });
    expect(lines).toEqual([
      ['info', 'a payment was handed in'],
      ['info', 'a top-up is over'],
    ]);
  });

  it.each<[string, TopUpVerdict, string, 'info' | 'error']>([
    ['never came', { found: 'gone' }, 'failed', 'info'],
    [
      'was used otherwise, which somebody must look at',
      { found: 'wrong', transaction: TRANSACTION, reason: 'x' },
      'wrong',
      'error',
    ],
  ])('credits nothing where it %s', async (_what, verdict, state, level) => {
    const { paymentId } = await handedIn();
    expect(await conclude(paymentId, verdict)).toMatchObject({ state });
    expect(await conclude(paymentId, { found: 'final', units: '1', transaction: TRANSACTION })).toMatchObject({
      state,
    });
    expect(lines.at(-1)).toEqual([level, 'a top-up is over']);
    expect(await creditOf(paymentId)).toBeUndefined();
  });

  it('does not come for a dropped payment, which is submitted once more', async () => {
    const { paymentId } = await handedIn();
    const dropped: TopUpVerdict = { found: 'dropped', settlement: 1 };
    expect(await conclude(paymentId, dropped)).toMatchObject({ state: 'recorded', settlements: 1 });
    network.play({ find: ABSENT });
    expect(await settle(paymentId, 2)).toMatchObject({ state: 'sent', settlements: 2 });
    // The result of an earlier check may arrive late. It does not undo a later submission.
    expect(await conclude(paymentId, dropped)).toMatchObject({ state: 'sent', settlements: 2 });
  });
});
