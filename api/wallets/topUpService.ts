/**
 * Where payments of wallets are taken: looked at on their chain, handed to their workflow and waited for. All that present
 * one payment to this process at the same time share one look, one start and one wait; processes share the workflow, which
 * is named after the payment. Nothing is written down here: the workflow's first step does it, so there is no payment on
 * the books that nobody sees through.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { FareboxError } from '../../domain/errors.ts';
import type { SignedPayment } from '../../domain/payments/signedPayment.ts';
import {
  isFinalTopUp,
  MAX_COSTLY_FAILURES,
  MAX_OPEN_TOP_UPS,
  MAX_SETTLEMENTS,
  MAX_WINDOW_SECONDS,
} from '../../domain/payments/topUp.ts';
import { isSameWallet } from '../../domain/wallets.ts';
import { failpoint } from '../../infra/failpoints.ts';
import type { Logger } from '../../infra/log.ts';
import { unavailable } from '../../infra/postgres/failures.ts';
import type { Sql } from '../../infra/postgres/pool.ts';
import {
  findTopUp,
  paymentIdOf,
  readUnpaid,
  type TopUpRow,
  termsOf,
  UNKNOWN_TERMS,
} from '../../infra/postgres/topUps.ts';
import { walletAccountId } from '../../infra/postgres/walletAccounts.ts';
import { createSemaphore } from '../../infra/semaphore.ts';
import type { Temporal } from '../../infra/temporal/connect.ts';
import { type PaymentNetwork, PaymentRefused, UsedBefore } from '../../providers/payments/paymentNetwork.ts';
import {
  PRESENTED_SIGNAL,
  type PresentedPayment,
  TOP_UP_WORKFLOW,
  type TopUpInput,
  topUpOptions,
} from '../../workflows/contract.ts';

/** State of a payment for the answer to its presenter. */
export interface PresentedTopUp {
  paymentId: string;
  /** Undefined: submitted to its workflow, which has not written it yet. */
  row: TopUpRow | undefined;
  /** The payment was presented before, or by another request that this one shares. */
  known: boolean;
}

interface Presentation {
  network: PaymentNetwork;
  payment: SignedPayment;
  requestId: string;
  stopping: AbortSignal;
}

export interface TopUpService {
  /**
   * Resolves when the payment is credited, refused or over, or when it was waited for long enough. Throws PaymentRefused
   * before anything moved, and FareboxError `unavailable` when its chain, Temporal or the database is away, or too many are
   * waited for, and `rate_limited` when its payer has too many that did not end in a credit.
   */
  present(presentation: Presentation): Promise<PresentedTopUp>;
  /** Row of a payment, whether or not it could be presented now. A failed one is looked up on the chain once more. */
  find(presentation: Presentation): Promise<PresentedTopUp | undefined>;
}

const SETTLE_WAIT_MS = 25_000;
const CHECK_LIMIT_MS = 8_000;
const START_LIMIT_MS = 3_000;
const START_ATTEMPTS = 2;
const FIRST_LOOK_MS = 15;
const MAX_LOOK_MS = 250;
/** Each polls its row four times a second. */
const MAX_IN_FLIGHT = 200;
/** Retry-After for a payer whose payments failed: the next one may be hours away. */
const RETRY_AFTER_FAILURES_SECONDS = 3_600;

interface TopUpDependencies {
  sql: Sql;
  temporal: Temporal;
  log: Logger;
  settleWaitMs: number;
}

/** `settleWaitMs`: longest wait of a presenter for the credit; 25 s. */
export function createTopUpService(
  given: Omit<TopUpDependencies, 'settleWaitMs'> & Partial<TopUpDependencies>,
): TopUpService {
  const dependencies: TopUpDependencies = { settleWaitMs: SETTLE_WAIT_MS, ...given };
  const inFlight = new Map<string, Promise<PresentedTopUp>>();
  const taken: PaymentsInFlight = new Map();
  const semaphore = createSemaphore({ atOnce: 16, maxWaiting: 128, maxWaitMs: 5_000 });
  const check: PaymentCheck = (presentation) => {
    const signal = AbortSignal.timeout(CHECK_LIMIT_MS);
    return semaphore.run(() => mustBePayable(presentation, signal), signal);
  };

  async function present(presentation: Presentation): Promise<PresentedTopUp> {
    const { payment } = presentation;
    const name = `${paymentIdOf(payment)} ${termsOf(payment)}`;
    const running = inFlight.get(name);
    // Only the first presenter of an unknown payment gets this error.
    if (running) return { ...(await running), known: true };
    if (inFlight.size >= MAX_IN_FLIGHT) throw unavailable('too many payments are waited for');
    const started = settlePresented({ ...dependencies, taken }, check, presentation).finally(() => {
      inFlight.delete(name);
      taken.delete(paymentIdOf(payment));
    });
    inFlight.set(name, started);
    return await started;
  }

  return {
    async find(presentation) {
      const row = await readRow(dependencies, presentation.payment);
      if (row?.state === 'failed') return await present(presentation);
      return row && { paymentId: row.paymentId, row, known: true };
    },
    present,
  };
}

/** Payments that this process has just accepted, by id: they may not be in the database yet. */
type PaymentsInFlight = Map<string, SignedPayment>;

/** Throws PaymentRefused for another payment that its payer signed with the same nonce. */
async function readRow({ sql }: TopUpDependencies, payment: SignedPayment): Promise<TopUpRow | undefined> {
  const row = await findTopUp(sql, paymentIdOf(payment));
  if (row && row.terms !== UNKNOWN_TERMS && row.terms !== termsOf(payment)) {
    throw new PaymentRefused('PAYMENT_VERIFICATION_FAILED', 'Another payment was signed with this nonce.');
  }
  return row;
}

type PaymentCheck = (presentation: Presentation) => Promise<void>;

async function settlePresented(
  dependencies: TopUpDependencies & { taken: PaymentsInFlight },
  check: PaymentCheck,
  presentation: Presentation,
): Promise<PresentedTopUp> {
  const { payment } = presentation;
  const paymentId = paymentIdOf(payment);
  const before = await readRow(dependencies, payment);
  const known = before !== undefined;
  if (before?.state === 'failed') {
    if (!(await isOnChain(presentation, before))) return { paymentId, row: before, known };
    await begin(dependencies, presentation, undefined);
  } else if (before && (isFinalTopUp(before.state) || areAttemptsExhausted(before))) {
    return { paymentId, row: before, known };
  }
  if (!before || before.state === 'refused') {
    try {
      await check(presentation);
    } catch (error) {
      // Another process may have accepted it meanwhile: then its nonce is rightly used.
      const row = error instanceof PaymentRefused ? await readRow(dependencies, payment) : undefined;
      if (!row || row.state === 'refused') throw asUnavailable(error);
    }
    if (!before) await mustHaveRoom(dependencies, payment);
    await begin(dependencies, presentation, before);
  }
  const row = await outcomeOf(dependencies, presentation, before);
  return { paymentId, row, known: known || isByAnother(row, presentation) };
}

/** Another process may have accepted a payment at the same time. */
function isByAnother(row: TopUpRow | undefined, { requestId }: Presentation): boolean {
  return row !== undefined && row.requestId !== requestId;
}

/** Checks whether a failed payment is on its chain after all: a node may have lagged when it was given up. */
async function isOnChain({ network, payment }: Presentation, { transaction }: TopUpRow): Promise<boolean> {
  const signal = AbortSignal.timeout(CHECK_LIMIT_MS);
  try {
    return (await network.find(payment, signal, transaction)).state !== 'absent';
  } catch (error) {
    throw asUnavailable(error);
  }
}

/**
 * A wallet signs payments for free, and each accepted one occupies the nodes and the fee payer until it ends. Payments
 * that this process has just accepted count before they are in the database; each process counts its own.
 */
async function mustHaveRoom(
  { sql, taken }: TopUpDependencies & { taken: PaymentsInFlight },
  payment: SignedPayment,
): Promise<void> {
  const { open, costlyFailures, endsInSeconds } = await readUnpaid(sql, payment.payer);
  const ids = new Set(open);
  for (const [id, { payer }] of taken) {
    if (isSameWallet(payer, payment.payer)) ids.add(id);
  }
  ids.delete(paymentIdOf(payment));
  if (ids.size >= MAX_OPEN_TOP_UPS) {
    const message =
      `This wallet has ${MAX_OPEN_TOP_UPS} payments that are not settled yet, and may have no more. ` +
      'Present one of them again, or wait until they end.';
    throw tooMany(message, endsInSeconds);
  }
  if (costlyFailures >= MAX_COSTLY_FAILURES) {
    const message =
      `${MAX_COSTLY_FAILURES} payments of this wallet failed on their chain within a day: they cost a fee and moved ` +
      'nothing. No more are taken until a day has passed.';
    throw tooMany(message, RETRY_AFTER_FAILURES_SECONDS);
  }
  taken.set(paymentIdOf(payment), payment);
}

function tooMany(message: string, retryAfterSeconds: number): FareboxError {
  const seconds = Math.max(1, Math.min(Math.ceil(retryAfterSeconds), MAX_WINDOW_SECONDS));
  return new FareboxError({ code: 'rate_limited', message, retryAfterSeconds: seconds });
}

function areAttemptsExhausted({ state, settlements }: TopUpRow): boolean {
  return state === 'refused' && settlements >= MAX_SETTLEMENTS;
}

/** A payment that is already on the chain is accepted, whoever submitted it. */
async function mustBePayable({ network, payment }: Presentation, signal: AbortSignal): Promise<void> {
  try {
    await network.verify(payment, signal);
  } catch (error) {
    if (!(error instanceof PaymentRefused)) throw error;
    const { state } = await network.find(payment, signal).catch((failure: unknown) => {
      throw failure instanceof UsedBefore ? error : failure;
    });
    if (state !== 'pending' && state !== 'final') throw error;
  }
}

function asUnavailable(error: unknown): unknown {
  if (error instanceof PaymentRefused || error instanceof FareboxError) return error;
  return notTaken('the chain cannot be asked', error);
}

function notTaken(internal: string, cause: unknown): FareboxError {
  return new FareboxError({
    code: 'unavailable',
    message:
      'The payment cannot be taken at the moment. Please present the same payment again, and do not sign another one.',
    internal,
    retryAfterSeconds: 5,
    cause,
  });
}

/** Starts the workflow of the payment, or signals the waiting one that it is presented again. Both are idempotent. */
async function begin(
  { temporal }: TopUpDependencies,
  presentation: Presentation,
  before: TopUpRow | undefined,
): Promise<void> {
  const options = topUpOptions(inputOf(presentation));
  for (let attempt = 1; ; attempt += 1) {
    try {
      await failpoint('top-up-start');
      await temporal.within(START_LIMIT_MS, async ({ workflow }) => {
        if (!before) await workflow.start(TOP_UP_WORKFLOW, options);
        else {
          const presented: PresentedPayment = { settlements: before.settlements };
          await workflow.signalWithStart(TOP_UP_WORKFLOW, {
            ...options,
            signal: PRESENTED_SIGNAL,
            signalArgs: [presented],
          });
        }
      });
      await failpoint('top-up-started');
      return;
    } catch (error) {
      if (attempt >= START_ATTEMPTS) throw notTaken('Temporal cannot be asked', error);
      await sleep(MAX_LOOK_MS);
    }
  }
}

function inputOf({ network, payment, requestId }: Presentation): TopUpInput {
  const accountId = walletAccountId(payment.payer);
  return { paymentId: paymentIdOf(payment), accountId, requestId, payment, decimals: network.decimals };
}

/** The row once it has the result of this presentation, or after the longest wait. `before`: its previous state. */
async function outcomeOf(
  dependencies: TopUpDependencies,
  { payment, stopping }: Presentation,
  before: TopUpRow | undefined,
): Promise<TopUpRow | undefined> {
  const until = performance.now() + dependencies.settleWaitMs;
  for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(pauseMs * 1.3, MAX_LOOK_MS)) {
    const row = await readRow(dependencies, payment);
    if ((row && isNews(row, before)) || stopping.aborted || performance.now() + pauseMs > until) return row;
    await sleep(pauseMs);
  }
}

/** Whether the row has the result of this presentation, and not of an earlier one. */
function isNews({ state, settlements }: TopUpRow, before: TopUpRow | undefined): boolean {
  if (isFinalTopUp(state)) return state !== before?.state;
  return state === 'refused' && settlements > (before?.state === 'refused' ? before.settlements : 0);
}
