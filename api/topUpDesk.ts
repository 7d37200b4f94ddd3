/**
 * Where payments of wallets are taken: looked at on their chain, handed to their workflow and waited for. All that present
 * one payment to this process at the same time share one look, one start and one wait; processes share the workflow, which
 * is named after the payment. Nothing is written down here: the workflow's first step does it, so there is no payment on
 * the books that nobody sees through.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { FareboxError } from '../domain/errors.ts';
import type { SignedPayment } from '../domain/payments/signedPayment.ts';
import { isFinalTopUp, MOST_SETTLEMENTS } from '../domain/payments/topUp.ts';
import { createTurns } from '../infra/media/turns.ts';
import { point } from '../infra/points.ts';
import { unavailable } from '../infra/postgres/failures.ts';
import { findTopUp, paymentIdOf, type TopUpRow, termsOf } from '../infra/postgres/topUps.ts';
import { walletAccountId } from '../infra/postgres/walletAccounts.ts';
import { type PaymentNetwork, PaymentRefused } from '../providers/payments/paymentNetwork.ts';
import {
  PRESENTED_SIGNAL,
  type Presented,
  TOP_UP_WORKFLOW,
  type TopUpInput,
  topUpOptions,
} from '../workflows/contract.ts';
import type { Dependencies } from './dependencies.ts';

/** What is known of a payment when its presenter is answered. */
export interface Seen {
  paymentId: string;
  /** Undefined: handed to its workflow, which has not written it down yet. */
  row: TopUpRow | undefined;
  /** It was known before it was presented this time. */
  known: boolean;
}

export interface Presentation {
  network: PaymentNetwork;
  payment: SignedPayment;
  requestId: string;
  stopping: AbortSignal;
}

export interface TopUpDesk {
  /**
   * Resolves when the payment is credited, refused or over, or when it was waited for long enough. Throws PaymentRefused
   * before anything moved, and FareboxError `unavailable` when its chain, Temporal or the database is away, or too many are
   * waited for.
   */
  present(presentation: Presentation): Promise<Seen>;
  /** What is on the books of it, whether or not it could be presented now. */
  find(payment: SignedPayment): Promise<Seen | undefined>;
}

const SETTLE_WAIT_MS = 25_000;
const CHECK_LIMIT_MS = 8_000;
const START_LIMIT_MS = 3_000;
const START_ATTEMPTS = 2;
const FIRST_LOOK_MS = 15;
const LONGEST_LOOK_MS = 250;
/** Each looks at its row four times a second. */
const MOST_FLIGHTS = 200;

interface Desk extends Pick<Dependencies, 'sql' | 'temporal' | 'log'> {
  settleWaitMs: number;
}

/** `settleWaitMs`: how long a presenter is made to wait for the credit; 25 s. */
export function createTopUpDesk(given: Omit<Desk, 'settleWaitMs'> & Partial<Desk>): TopUpDesk {
  const desk: Desk = { settleWaitMs: SETTLE_WAIT_MS, ...given };
  const flights = new Map<string, Promise<Seen>>();
  const turns = createTurns({ atOnce: 16, maxWaiting: 128, maxWaitMs: 5_000 });
  const check: Check = (presentation) => {
    const signal = AbortSignal.timeout(CHECK_LIMIT_MS);
    return turns.run(() => mustBePayable(presentation, signal), signal);
  };

  return {
    async find(payment) {
      const row = await readRow(desk, payment);
      return row && { paymentId: row.paymentId, row, known: true };
    },
    async present(presentation) {
      const { payment } = presentation;
      const name = `${paymentIdOf(payment)} ${termsOf(payment)}`;
      const flying = flights.get(name);
      if (flying) return await flying;
      if (flights.size >= MOST_FLIGHTS) throw unavailable('too many payments are waited for');
      const flight = fly(desk, check, presentation).finally(() => flights.delete(name));
      flights.set(name, flight);
      return await flight;
    },
  };
}

/** Throws PaymentRefused for another payment that its payer signed with the same nonce. */
async function readRow({ sql }: Desk, payment: SignedPayment): Promise<TopUpRow | undefined> {
  const row = await findTopUp(sql, paymentIdOf(payment));
  if (row && row.terms !== termsOf(payment)) {
    throw new PaymentRefused('PAYMENT_VERIFICATION_FAILED', 'Another payment was signed with this nonce.');
  }
  return row;
}

type Check = (presentation: Presentation) => Promise<void>;

async function fly(desk: Desk, check: Check, presentation: Presentation): Promise<Seen> {
  const { payment } = presentation;
  const paymentId = paymentIdOf(payment);
  const before = await readRow(desk, payment);
  const known = before !== undefined;
  if (before && (isFinalTopUp(before.state) || isWornOut(before))) return { paymentId, row: before, known };
  if (!before || before.state === 'refused') {
    try {
      await check(presentation);
    } catch (error) {
      // Another process may have taken it meanwhile: then its nonce is used, and rightly so.
      const row = error instanceof PaymentRefused ? await readRow(desk, payment) : undefined;
      if (!row || row.state === 'refused') throw asUnavailable(error);
    }
    await begin(desk, presentation, before);
  }
  const row = await outcomeOf(desk, presentation, before?.state === 'refused' ? before.settlements : 0);
  return { paymentId, row, known };
}

function isWornOut({ state, settlements }: TopUpRow): boolean {
  return state === 'refused' && settlements >= MOST_SETTLEMENTS;
}

/** What the chain has already is taken too, whoever brought it there. */
async function mustBePayable({ network, payment }: Presentation, signal: AbortSignal): Promise<void> {
  try {
    await network.verify(payment, signal);
  } catch (error) {
    if (!(error instanceof PaymentRefused)) throw error;
    const { state } = await network.find(payment, signal);
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

/** Starts the payment's workflow, or tells the one that waits that it is presented again. Repeating either is harmless. */
async function begin(
  { temporal }: Desk,
  presentation: Presentation,
  before: TopUpRow | undefined,
): Promise<void> {
  const options = topUpOptions(inputOf(presentation));
  for (let attempt = 1; ; attempt += 1) {
    try {
      await point('top-up-start');
      await temporal.within(START_LIMIT_MS, async ({ workflow }) => {
        if (!before) await workflow.start(TOP_UP_WORKFLOW, options);
        else {
          const presented: Presented = { settlements: before.settlements };
          await workflow.signalWithStart(TOP_UP_WORKFLOW, {
            ...options,
            signal: PRESENTED_SIGNAL,
            signalArgs: [presented],
          });
        }
      });
      await point('top-up-started');
      return;
    } catch (error) {
      if (attempt >= START_ATTEMPTS) throw notTaken('Temporal cannot be asked', error);
      await sleep(LONGEST_LOOK_MS);
    }
  }
}

function inputOf({ network, payment, requestId }: Presentation): TopUpInput {
  const accountId = walletAccountId(payment.payer);
  return { paymentId: paymentIdOf(payment), accountId, requestId, payment, decimals: network.decimals };
}

/** The row when it says how this presentation ended, or after the longest wait. `refusals`: those that are known already. */
async function outcomeOf(
  desk: Desk,
  { payment, stopping }: Presentation,
  refusals: number,
): Promise<TopUpRow | undefined> {
  const until = performance.now() + desk.settleWaitMs;
  for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(pauseMs * 1.3, LONGEST_LOOK_MS)) {
    const row = await readRow(desk, payment);
    const over = row && (isFinalTopUp(row.state) || (row.state === 'refused' && row.settlements > refusals));
    if (over || stopping.aborted || performance.now() + pauseMs > until) return row;
    await sleep(pauseMs);
  }
}
