/**
 * Story of a top-up, from a signed payment to the credit. Only our own reading of the chain credits it. A payment is
 * submitted again only after a certain refusal, when its payer presents it again, or when the network dropped the
 * transaction: after a lost answer it may be in transit, and is looked for until it is found or its time is over.
 */
import {
  CancellationScope,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { TopUpActivities, TopUpProgress, TopUpVerdict } from '../activities/types.ts';
import { formatNano } from '../domain/money.ts';
import { FIRST_REFUSED_PAUSE_MS, isFinalTopUp } from '../domain/payments/topUp.ts';
import { SEARCH_ATTRIBUTES, type TopUpInput, type TopUpResult } from './contract.ts';
import { presentedSignal } from './messages.ts';

/** Never given up: they concern money. Each can be repeated. */
const UNFAILING = {
  startToCloseTimeout: 60_000,
  heartbeatTimeout: 5_000,
  retry: { initialInterval: 200, maximumInterval: 30_000 },
} as const;

const books = proxyActivities<Pick<TopUpActivities, 'recordTopUp' | 'concludeTopUp'>>({
  ...UNFAILING,
  taskQueue: 'jobs',
  summary: 'the books',
});
const { settleTopUp } = proxyActivities<TopUpActivities>({
  ...UNFAILING,
  taskQueue: 'payments',
  summary: 'hand in the payment',
});
const { examineTopUp } = proxyActivities<TopUpActivities>({
  ...UNFAILING,
  taskQueue: 'payments',
  summary: 'look for a refused payment',
});
const { watchTopUp } = proxyActivities<TopUpActivities>({
  ...UNFAILING,
  taskQueue: 'payments',
  // The first attempt polls closely by itself; later, a payment that its chain lost for an hour causes few queries.
  retry: { initialInterval: 1_000, backoffCoefficient: 1.2, maximumInterval: 30_000 },
  summary: 'look on the chain',
});

interface TopUpRun {
  input: TopUpInput;
  stand: TopUpProgress;
  /** Number of the settlement up to which its payer wants it submitted. */
  wanted: number;
  /** Scope that a repeated presentation interrupts. */
  pause?: CancellationScope;
}

export async function topUp(input: TopUpInput): Promise<TopUpResult> {
  const run: TopUpRun = { input, stand: { state: 'recorded', settlements: 0 }, wanted: 1 };
  setHandler(presentedSignal, ({ settlements }) => {
    run.wanted = Math.max(run.wanted, settlements + 1);
    if (isWantedAgain(run)) run.pause?.cancel();
  });
  run.stand = await books.recordTopUp(input);
  while (!isFinalTopUp(run.stand.state)) {
    if (run.stand.state === 'recorded' || isWantedAgain(run)) {
      await settle(run);
      continue;
    }
    const verdict = await watch(run);
    if (!verdict) continue;
    run.stand = await books.concludeTopUp({ paymentId: input.paymentId, verdict });
  }
  describe(run);
  const { settlements: _, ...result } = run.stand;
  return result;
}

function isWantedAgain({ stand, wanted }: TopUpRun): boolean {
  return stand.state === 'refused' && wanted > stand.settlements;
}

async function settle(run: TopUpRun): Promise<void> {
  const { input, stand } = run;
  const settlement = stand.settlements + 1;
  run.stand = await settleTopUp({ paymentId: input.paymentId, settlement });
  describe(run);
}

/** Undefined: its payer presents it again, or it was not refused after all. */
async function watch(run: TopUpRun): Promise<TopUpVerdict | undefined> {
  const pause = new CancellationScope({ cancellable: true });
  run.pause = pause;
  try {
    return await pause.run(() => look(run));
  } catch (error) {
    // A cancellation of the workflow by an operator goes through; the reconciler resumes the row.
    const byPayer = isCancellation(error) && !CancellationScope.current().consideredCancelled;
    if (byPayer) return undefined;
    throw error;
  } finally {
    delete run.pause;
  }
}

async function look(run: TopUpRun): Promise<TopUpVerdict | undefined> {
  if (run.stand.state === 'refused') return await waitForPayer(run);
  return await watchTopUp({ paymentId: run.input.paymentId });
}

/**
 * Waits with a refused payment: its payer may present it again until its window ends. Undefined: it is in transit after
 * all.
 */
async function waitForPayer(run: TopUpRun): Promise<TopUpVerdict | undefined> {
  const { paymentId } = run.input;
  let pauseMs: number = FIRST_REFUSED_PAUSE_MS;
  for (let looks = 1; ; looks += 1) {
    await sleep(pauseMs);
    const examination = await examineTopUp({ paymentId, looks });
    if (examination.verdict) return examination.verdict;
    run.stand = examination.stand;
    if (run.stand.state !== 'refused') return undefined;
    pauseMs = examination.pauseMs;
  }
}

/** Summary for operators in the Temporal UI. */
function describe({ input, stand }: TopUpRun): void {
  const credited = stand.creditedUsd === undefined ? undefined : formatNano(BigInt(stand.creditedUsd));
  const lines = [
    `**${stand.state}**${stand.reason ? ` · ${stand.reason}` : ''}`,
    '',
    `- credited: ${credited === undefined ? 'nothing' : `${credited} USD`}`,
    `- signed: ${input.payment.amount} smallest units of ${input.payment.asset} on ${input.payment.network}`,
    ...(stand.transaction ? [`- transaction: ${stand.transaction}`] : []),
    `- handed in: ${stand.settlements} times`,
    `- wallet: ${input.payment.payer.address}, account ${input.accountId}`,
    `- request: ${input.requestId}`,
  ];
  setCurrentDetails(lines.join('\n'));
  upsertSearchAttributes({
    [SEARCH_ATTRIBUTES.state]: [stand.state],
    ...(credited === undefined ? {} : { [SEARCH_ATTRIBUTES.costUsd]: [Number(credited)] }),
  });
}
