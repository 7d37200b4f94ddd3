/** The path of a payment into the books, with the real activities, server and database. Only the chain is scripted. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { reopenTopUp } from '../../infra/postgres/topUps.ts';
import { ChainUnavailable, type PaymentLookup, type SettleOutcome } from '../../providers/payments/paymentNetwork.ts';
import {
  TOP_UP_WORKFLOW,
  type TopUpWorkflow,
  topUpOptions,
  UPKEEP_WORKFLOW,
  type UpkeepWorkflow,
} from '../../workflows/contract.ts';
import { createDatabase, createNamespace, services } from '../harness/services.ts';
import { until } from '../harness/until.ts';
import {
  ABSENT,
  DROPPED,
  FINAL,
  GONE,
  PENDING,
  REFUSED,
  type Script,
  SENT,
  STUCK,
  somePayment,
  TRANSACTION,
  UNKNOWN,
  WRONG,
} from '../payments/scriptedNetwork.ts';
import { openTopUpStage, type TopUpStage, topUpInput } from './topUpStage.ts';

let stage: TopUpStage;
beforeAll(async () => {
  stage = await openTopUpStage({
    databaseUrl: await createDatabase(),
    address: services().temporal.address,
    namespace: await createNamespace(),
  });
});
afterAll(() => stage.close());

const FIVE_USD = 5_000_000_000n;

interface Case {
  title: string;
  script: Script;
  ends: 'credited' | 'failed' | 'wrong';
  settles: number;
}

/** Answers of a facilitator, then the successive states that the chain shows. */
const SETTLED: [string, SettleOutcome | Error][] = [
  ['is sent', SENT],
  ['is sent without a transaction', { outcome: 'sent', transaction: undefined }],
  ['has no known outcome', UNKNOWN],
  ['is answered with a fault', new Error('boom')],
  ['is refused', REFUSED],
];
const CHAIN: [string, PaymentLookup[], Case['ends']][] = [
  ['is final at once', [FINAL], 'credited'],
  ['is absent, pending, and then final', [ABSENT, PENDING, PENDING, FINAL], 'credited'],
  ['is pending, gone in a reorganisation, and then final', [PENDING, ABSENT, PENDING, FINAL], 'credited'],
  ['is absent until it can never come', [ABSENT, ABSENT, GONE], 'failed'],
  ['is something else than was promised', [ABSENT, WRONG], 'wrong'],
];
const CASES: Case[] = SETTLED.flatMap(([how, settle]) =>
  CHAIN.map(([then, chain, ends]) => ({
    title: `that ${how} and ${then} ends ${ends}, handed in once`,
    script: { settle, find: (call: number) => chain[Math.min(call, chain.length) - 1] ?? ABSENT },
    ends,
    settles: 1,
  })),
);

describe('a payment', () => {
  it.each(CASES)('$title', async ({ script, ends, settles }) => {
    const { handle, row, balance } = await stage.begin(script);
    expect(await handle.result()).toMatchObject({ state: ends });
    expect(stage.network.calls.settle).toBe(settles);
    expect(await balance()).toBe(ends === 'credited' ? FIVE_USD : 0n);
    const kept = await row();
    expect(kept).toMatchObject({ state: ends, payment: undefined });
    if (ends === 'credited') expect(kept).toMatchObject({ transaction: TRANSACTION, creditedNano: FIVE_USD });
  });

  it('is credited with the amount read on the chain, to the smallest unit', async () => {
    const find: PaymentLookup = { state: 'final', transaction: TRANSACTION, amount: '7000001' };
    const payment = somePayment({ amount: '7000001' });
    const { handle, balance } = await stage.begin({ find }, topUpInput(payment));
    expect(await handle.result()).toMatchObject({ state: 'credited', creditedUsd: '7000001000' });
    expect(await balance()).toBe(7_000_001_000n);
  });

  it('is not submitted when the chain has it already', async () => {
    const { handle, balance } = await stage.begin({ findFirst: (call) => (call < 3 ? PENDING : FINAL) });
    expect(await handle.result()).toMatchObject({ state: 'credited' });
    expect(stage.network.calls.settle).toBe(0);
    expect(await balance()).toBe(FIVE_USD);
  });

  it.each([
    ['gone', GONE, 'failed'],
    ['wrong', WRONG, 'wrong'],
  ] as const)('is not submitted when it is %s already', async (_what, findFirst, state) => {
    const { handle } = await stage.begin({ findFirst });
    expect(await handle.result()).toMatchObject({ state });
    expect(stage.network.calls.settle).toBe(0);
  });

  it('waits for a chain that does not answer, before and after it is submitted', async () => {
    const away = new ChainUnavailable('no node answers');
    const { handle, balance } = await stage.begin({
      findFirst: (call) => (call < 3 ? away : ABSENT),
      find: (call) => (call < 3 ? away : FINAL),
    });
    expect(await handle.result()).toMatchObject({ state: 'credited' });
    expect(stage.network.calls.settle).toBe(1);
    expect(await balance()).toBe(FIVE_USD);
  });

  it.each([
    ['is final', [FINAL], 'credited'],
    ['is pending, and then final', [PENDING, FINAL], 'credited'],
    ['is absent, and then something else', [ABSENT, WRONG], 'wrong'],
    ['does not answer, and is then final', [new ChainUnavailable('no node answers'), FINAL], 'credited'],
  ] as const)('whose settle call is never answered does not wait for that when it %s', async (_what, chain, state) => {
    const { handle, row } = await stage.begin({
      settle: () => new Promise<never>(() => undefined),
      find: (call) => chain[Math.min(call, chain.length) - 1] ?? ABSENT,
    });
    const told = handle.result();
    // Far below the 40 seconds after which an answer counts as lost.
    expect(await Promise.race([told, sleep(20_000)])).toMatchObject({ state });
    expect(stage.network.calls.settle).toBe(1);
    expect(await row()).toMatchObject({ state, settlements: 1 });
  });

  it('that is wrong is logged for the operator as an error with its transaction', async () => {
    const { handle, input } = await stage.begin({ find: WRONG });
    await handle.result();
    const line = stage.log.find((each) => each.includes(input.paymentId) && each.includes('a top-up is over'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({
      level: 'error',
      state: 'wrong',
      transaction: TRANSACTION,
    });
  });
});

describe('a payment whose transaction the network dropped', () => {
  it('is submitted again without a request and credited once', async () => {
    const { handle, row, balance } = await stage.begin({
      settle: (call) => (call === 1 ? SENT : { outcome: 'sent', transaction: `0x${'cd'.repeat(32)}` }),
      find: () => (stage.network.calls.settle === 1 ? DROPPED : FINAL),
    });
    expect(await handle.result()).toMatchObject({ state: 'credited', transaction: TRANSACTION });
    expect(stage.network.calls.settle).toBe(2);
    expect(await row()).toMatchObject({ state: 'credited', settlements: 2 });
    expect(await balance()).toBe(FIVE_USD);
  });

  it('with a fee that is too low is submitted again as a replacement of the first transaction', async () => {
    const { handle, row } = await stage.begin({
      settle: (call) => (call === 1 ? SENT : { outcome: 'sent', transaction: `0x${'cd'.repeat(32)}` }),
      find: () => (stage.network.calls.settle === 1 ? STUCK : FINAL),
    });
    expect(await handle.result()).toMatchObject({ state: 'credited' });
    expect(stage.network.replaced).toEqual([undefined, TRANSACTION]);
    expect(await row()).toMatchObject({ settlements: 2 });
  });

  it('that is missing only for a moment is not submitted again', async () => {
    const found = [DROPPED, DROPPED, PENDING, DROPPED, ABSENT, FINAL];
    const { handle } = await stage.begin({ find: (call) => found[call - 1] ?? FINAL });
    expect(await handle.result()).toMatchObject({ state: 'credited' });
    expect(stage.network.calls.settle).toBe(1);
  });

  it('is reopened only in a state that may still reach the chain, and at most 20 times', async () => {
    const { handle, input, row, reaches } = await stage.begin({ settle: REFUSED, find: ABSENT });
    await reaches('refused');
    const reopen = (settlement: number) => reopenTopUp(stage.pool, { paymentId: input.paymentId, settlement });
    expect(await reopen(1)).toMatchObject({ state: 'refused' });
    const become = (state: string, settlements: number) =>
      stage.pool.query('update top_ups set state = $2, settlements = $3 where id = $1', [
        ...[input.paymentId, state, settlements],
      ]);
    await handle.terminate('the rest is about its row');
    await become('sent', 20);
    expect(await reopen(20)).toMatchObject({ state: 'sent' });
    await become('unknown', 19);
    expect(await reopen(18)).toMatchObject({ state: 'unknown' });
    expect(await reopen(19)).toMatchObject({ state: 'recorded', settlements: 19 });
    expect((await row()).transaction).toBeUndefined();
  });
});

describe('a payment that seems to be gone', () => {
  it('is looked at twice, and is credited where only a lagging node said so', async () => {
    const { handle, balance } = await stage.begin({ find: (call) => (call === 1 ? GONE : FINAL) });
    expect(await handle.result()).toMatchObject({ state: 'credited' });
    expect(await balance()).toBe(FIVE_USD);
  });

  it('counts as gone only after consecutive checks: any other state starts the count again', async () => {
    const found = [GONE, ABSENT, GONE, FINAL];
    const { handle } = await stage.begin({ find: (call) => found[call - 1] ?? FINAL });
    expect(await handle.result()).toMatchObject({ state: 'credited' });
  });

  it('fails, and is credited when it is presented again and the chain has it after all', async () => {
    const { handle, input, row, balance } = await stage.begin({
      settle: REFUSED,
      findFirst: GONE,
      find: GONE,
    });
    expect(await handle.result()).toMatchObject({ state: 'failed' });
    const again = () => stage.client.workflow.start<TopUpWorkflow>(TOP_UP_WORKFLOW, topUpOptions(input));
    stage.network.play({ findFirst: ABSENT });
    expect(await (await again()).result()).toMatchObject({ state: 'failed' });
    stage.network.play({ findFirst: FINAL });
    expect(await (await again()).result()).toMatchObject({ state: 'credited' });
    expect(stage.network.calls.settle).toBe(0);
    expect(await row()).toMatchObject({ state: 'credited', payment: undefined });
    expect(await balance()).toBe(FIVE_USD);
  });
});

describe('a refused payment', () => {
  it('is submitted again once for each time that its payer presents it again', async () => {
    const { handle, present, reaches, row, balance } = await stage.begin({
      settle: (call) => (call < 3 ? REFUSED : SENT),
      find: () => (stage.network.calls.settle < 3 ? ABSENT : FINAL),
    });
    await reaches('refused');
    expect(await row()).toMatchObject({ settlements: 1, reason: 'insufficient_funds' });
    // A client that did not know of the refusal repeats its first request.
    await present(0);
    await present(1);
    await present(1);
    await until('handed in twice', async () => (await row()).settlements === 2);
    await reaches('refused');
    expect(stage.network.calls.settle).toBe(2);
    await present(2);
    expect(await handle.result()).toMatchObject({ state: 'credited' });
    expect(stage.network.calls.settle).toBe(3);
    expect(await balance()).toBe(FIVE_USD);
  });

  it('is credited when it reaches the chain although the facilitator said that it was refused', async () => {
    let landed = false;
    const { handle, reaches, balance } = await stage.begin({
      settle: REFUSED,
      find: () => (landed ? FINAL : ABSENT),
    });
    await reaches('refused');
    landed = true;
    expect(await handle.result()).toMatchObject({ state: 'credited' });
    expect(stage.network.calls.settle).toBe(1);
    expect(await balance()).toBe(FIVE_USD);
  });

  it('ends failed within its own window, and its chain is asked a few times only until then', async () => {
    const endsAtS = Math.ceil(Date.now() / 1_000) + 9;
    const { handle } = await stage.begin(
      { settle: REFUSED, find: () => (Date.now() / 1_000 >= endsAtS ? GONE : ABSENT) },
      topUpInput(somePayment({ validBefore: String(endsAtS) })),
    );
    expect(await handle.result()).toMatchObject({ state: 'failed' });
    expect(stage.network.calls.find).toBeLessThanOrEqual(9);
  });
});

describe('a refused payment whose validity window is over', () => {
  it('is checked without adding to its history until the chain reports its end', async () => {
    let hasEnded = false;
    const { handle, row } = await stage.begin(
      { settle: REFUSED, find: () => (hasEnded ? GONE : ABSENT) },
      topUpInput(somePayment({ validBefore: String(Math.floor(Date.now() / 1_000) - 60) })),
    );
    await until('the pause after its refusal is over', () => stage.network.calls.find > 1);
    const isWaiting = async () =>
      ((await handle.describe()).raw.pendingActivities ?? []).some(({ attempt }) => (attempt ?? 0) > 1);
    await until('the look is repeated by its own activity', isWaiting);
    expect(await row()).toMatchObject({ state: 'refused' });
    hasEnded = true;
    await stage.client.workflowService.resetActivity({
      ...{ namespace: stage.client.options.namespace, execution: { workflowId: handle.workflowId } },
      type: 'examineTopUp',
    });
    expect(await handle.result()).toMatchObject({ state: 'failed' });
  });
});

describe('a top-up whose workflow is gone', () => {
  it.each([
    ['while it was sent', SENT],
    ['while nobody knew', UNKNOWN],
    ['after a refusal', REFUSED],
  ])('is resumed by upkeep %s, and is not submitted again', async (_when, settle) => {
    let landed = false;
    const { handle, reaches, balance, input } = await stage.begin({
      settle,
      find: () => (landed ? FINAL : ABSENT),
    });
    await reaches(settle.outcome);
    await handle.terminate('by the operator');
    landed = true;
    const reconcile = { taskQueue: 'jobs', workflowId: `reconcile-${input.paymentId}` };
    await stage.client.workflow.execute<UpkeepWorkflow>(UPKEEP_WORKFLOW, {
      ...reconcile,
      args: ['reconcileTopUps', { topUpGraceMs: 0 }],
    });
    await reaches('credited');
    expect(stage.network.calls.settle).toBe(1);
    expect(await balance()).toBe(FIVE_USD);
  });

  it('that was credited ends at once when it is started again', async () => {
    const { handle, input, balance } = await stage.begin({});
    await handle.result();
    const again = await stage.client.workflow.start<TopUpWorkflow>(TOP_UP_WORKFLOW, topUpOptions(input));
    expect(await again.result()).toMatchObject({ state: 'credited' });
    expect(stage.network.calls.settle).toBe(1);
    expect(await balance()).toBe(FIVE_USD);
  });
});

it('credits exactly the payments that arrived on the chain', async () => {
  expect(await checkLedger(stage.pool)).toEqual([]);
});
