/**
 * Steps of a top-up. The row is marked before the payment is submitted: a step that is repeated after its worker died,
 * or its answer was lost, finds the mark and looks on the chain.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure, Context, cancellationSignal } from '@temporalio/activity';
import { formatNano } from '../domain/money.ts';
import type { SignedPayment } from '../domain/payments/signedPayment.ts';
import { canReopen, endOfWindowMs, isFinalTopUp, pauseOfRefusedMs, type TopUpState } from '../domain/payments/topUp.ts';
import { failpoint } from '../infra/failpoints.ts';
import {
  beginSettlement,
  clearGone,
  creditTopUp,
  endTopUp,
  noteGone,
  noteSettlement,
  noteSighting,
  readTopUp,
  recordTopUp as record,
  reopenTopUp,
  reserveFee,
  reviveTopUp,
  type TopUpRow,
} from '../infra/postgres/topUps.ts';
import { topUpsReached } from '../infra/telemetry/counters.ts';
import type {
  PaymentLookup,
  PaymentNetwork,
  SettleOutcome,
  SettleTerms,
} from '../providers/payments/paymentNetwork.ts';
import type { TopUpInput } from '../workflows/contract.ts';
import type { ActivityDependencies } from './dependencies.ts';
import type { TopUpExamination, TopUpProgress, TopUpVerdict } from './types.ts';

/** Longer answers count as lost. */
const SETTLE_LIMIT_MS = 40_000;
const FIND_LIMIT_MS = 20_000;
/** After this silence the facilitator may have submitted it: the chain is checked meanwhile. */
const SILENCE_MS = 3_000;
const SILENT_PAUSE_MS = 1_000;

const GONE = 'it is not on the chain and can never come there any more';

export async function recordTopUp(dependencies: ActivityDependencies, input: TopUpInput): Promise<TopUpProgress> {
  const { payment, decimals, requestId } = input;
  const row = await record(dependencies.pool, { payment, decimals, requestId });
  await failpoint('top-up-recorded');
  return standOf(row.state === 'failed' ? await reexamine(dependencies, row, payment) : row);
}

/** A failed payment that is presented again, and is on the chain after all, is resumed. */
async function reexamine(dependencies: ActivityDependencies, row: TopUpRow, payment: SignedPayment): Promise<TopUpRow> {
  const found = await look(networkOf(dependencies, payment), { payment, transaction: row.transaction });
  if (found.state === 'absent') return row;
  return await reviveTopUp(dependencies.pool, { payment, transaction: found.transaction });
}

export async function settleTopUp(
  dependencies: ActivityDependencies,
  step: { paymentId: string; settlement: number },
): Promise<TopUpProgress> {
  const { pool } = dependencies;
  const row = await readTopUp(pool, step.paymentId);
  const payment = row.payment;
  // Submitted by an earlier attempt whose end was lost, or over.
  if (!payment || row.settlements >= step.settlement) return await interrupted(dependencies, row);
  const network = networkOf(dependencies, payment);
  // It may be on the chain already: then there is nothing to submit.
  const found = await look(network, { payment, transaction: row.transaction });
  if (found.state === 'wrong') {
    const { transaction, reason } = found;
    const verdict: TopUpVerdict = { found: 'wrong', transaction, reason };
    return await concludeTopUp(dependencies, { paymentId: row.paymentId, verdict });
  }
  if (found.state !== 'absent') {
    await noteSighting(pool, { ...step, transaction: found.transaction });
    return standOf(await readTopUp(pool, step.paymentId));
  }
  if (!(await beginSettlement(pool, step))) {
    return await interrupted(dependencies, await readTopUp(pool, step.paymentId));
  }
  if (found.gone) {
    await noteSettlement(pool, { ...step, state: 'unknown', reason: 'it was too late to hand it in' });
    return standOf(await readTopUp(pool, step.paymentId));
  }
  await failpoint('top-up-settling');
  const outcome = await handIn(network, payment, {
    approveFee: (fee) => approveFee(dependencies, { paymentId: row.paymentId, network, fee }),
    // The row keeps a transaction only while it waits to be replaced.
    replaces: row.state === 'recorded' ? row.transaction : undefined,
  });
  await failpoint('top-up-settled');
  return await noteOutcome(dependencies, step, { network, payment, outcome });
}

/** Marked without a result: the payment may be in transit, and is never submitted again for that. */
async function interrupted({ pool }: ActivityDependencies, row: TopUpRow): Promise<TopUpProgress> {
  if (row.state !== 'settling') return standOf(row);
  const { paymentId, settlements: settlement } = row;
  await noteSettlement(pool, { paymentId, settlement, state: 'unknown', reason: 'the step was interrupted' });
  return standOf(await readTopUp(pool, paymentId));
}

async function approveFee(
  { pool, log }: ActivityDependencies,
  { paymentId, network, fee }: { paymentId: string; network: PaymentNetwork; fee: bigint },
): Promise<boolean> {
  const isWithin = await reserveFee(pool, {
    paymentId,
    network: network.network,
    fee,
    budget: network.feeBudget,
  });
  if (!isWithin) {
    const about = { paymentId, network: network.network, fee: fee.toString() };
    log.error(about, 'the budget of fees for today is used up: no payment is handed in');
  }
  return isWithin;
}

async function handIn(network: PaymentNetwork, payment: SignedPayment, terms: SettleTerms): Promise<SettleOutcome> {
  const over = new AbortController();
  const inTime = AbortSignal.timeout(SETTLE_LIMIT_MS);
  const signal = AbortSignal.any([cancellationSignal(), inTime, over.signal]);
  try {
    return await Promise.race([network.settle(payment, signal, terms), untilSeen(network, payment, signal)]);
  } catch {
    return { outcome: 'unknown', reason: 'there was no answer in time' };
  } finally {
    over.abort();
  }
}

/** Resolves when the chain has the payment, which its payer waits for, even without an answer. */
async function untilSeen(network: PaymentNetwork, payment: SignedPayment, signal: AbortSignal): Promise<SettleOutcome> {
  for (let pauseMs = SILENCE_MS; ; pauseMs = SILENT_PAUSE_MS) {
    await sleep(pauseMs, undefined, { signal });
    const found = await look(network, { payment }, signal).catch(() => undefined);
    if (found === undefined || found.state === 'absent') continue;
    const { transaction } = found;
    return { outcome: 'unknown', reason: 'the chain had it before there was an answer', transaction };
  }
}

interface SubmittedPayment {
  network: PaymentNetwork;
  payment: SignedPayment;
  outcome: SettleOutcome;
}

async function noteOutcome(
  { pool, log }: ActivityDependencies,
  { paymentId, settlement }: { paymentId: string; settlement: number },
  { network, payment, outcome }: SubmittedPayment,
): Promise<TopUpProgress> {
  const transaction = 'transaction' in outcome ? outcome.transaction : undefined;
  const reason = 'reason' in outcome ? outcome.reason : undefined;
  const state = outcome.outcome === 'refused' ? await refusalOf(network, payment) : outcome.outcome;
  log.info({ paymentId, settlement, outcome: outcome.outcome, reason, transaction }, 'a payment was handed in');
  topUpsReached.labels(payment.network, state).inc();
  await noteSettlement(pool, { paymentId, settlement, state, transaction, reason });
  return standOf(await readTopUp(pool, paymentId));
}

/** A refusal counts when the chain does not know the payment either. */
async function refusalOf(network: PaymentNetwork, payment: SignedPayment): Promise<'refused' | 'unknown'> {
  try {
    const found = await look(network, { payment });
    return found.state === 'absent' ? 'refused' : 'unknown';
  } catch {
    return 'unknown';
  }
}

/** Time for which the first attempt polls by itself: pauses between attempts are at least a second. */
const CLOSE_LOOK_MS = 15_000;
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;
/** Time for which it must be missing: several nodes behind one address learn of it one by one. */
const DROPPED_FOR_MS = 5_000;
/** Time for which blocks skip our transaction before its fee is raised: base fees come down again. */
const STUCK_FOR_MS = 15_000;

export async function watchTopUp(
  dependencies: ActivityDependencies,
  { paymentId }: { paymentId: string },
): Promise<TopUpVerdict> {
  const { attempt } = Context.current().info;
  const until = performance.now() + (attempt === 1 ? CLOSE_LOOK_MS : 0);
  let missing: MissingTransaction | undefined;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.2, MAX_PAUSE_MS)) {
    const { found, settlement, transaction } = await sighting(dependencies, paymentId);
    const verdict = verdictOf(found);
    await failpoint('top-up-checked');
    if (verdict?.found === 'gone') await mustStayGone(dependencies, paymentId);
    if (verdict) return verdict;
    const now = performance.now();
    missing = stillMissing(missing, found, now);
    if (isLongMissing(missing, now)) {
      const replaces = missing.isStuck ? transaction : undefined;
      return { found: 'dropped', settlement, ...(replaces !== undefined && { replaces }) };
    }
    if (missing === undefined && now + pauseMs > until) {
      const isSeen = found.state === 'pending';
      throw stillSettling(isSeen ? 'The chain has it, but not deep enough yet.' : 'Not on the chain yet.');
    }
    await sleep(pauseMs, undefined, { signal: cancellationSignal() });
  }
}

interface MissingTransaction {
  /** By `performance.now()`. */
  since: number;
  /** The transaction waits with too low a fee; false: it was dropped. */
  isStuck: boolean;
}

function isLongMissing(missing: MissingTransaction | undefined, now: number): missing is MissingTransaction {
  return missing !== undefined && now - missing.since >= (missing.isStuck ? STUCK_FOR_MS : DROPPED_FOR_MS);
}

/** Undefined: there is nothing to submit again. */
function stillMissing(
  before: MissingTransaction | undefined,
  found: PaymentLookup,
  now: number,
): MissingTransaction | undefined {
  if (!isMissing(found)) return undefined;
  const isStuck = found.stuck === true;
  return before?.isStuck === isStuck ? before : { since: now, isStuck };
}

export async function examineTopUp(
  dependencies: ActivityDependencies,
  { paymentId, looks }: { paymentId: string; looks: number },
): Promise<TopUpExamination> {
  const { found } = await sighting(dependencies, paymentId);
  const verdict = verdictOf(found);
  if (verdict?.found === 'gone') await mustStayGone(dependencies, paymentId);
  const row = await readTopUp(dependencies.pool, paymentId);
  const leftMs = row.payment === undefined ? 0 : endOfWindowMs(row.payment) - Date.now();
  const pauseMs = pauseOfRefusedMs(looks, leftMs);
  // Polls of the workflow would add to its history.
  if (!verdict && row.state === 'refused' && leftMs <= 0) {
    throw stillSettling('Its window is over, and the chain does not tell yet that it is gone.', pauseMs);
  }
  return { stand: standOf(row), pauseMs, ...(verdict && { verdict }) };
}

/**
 * A lagging node behind an address can report a landed payment as gone. The retry polls again after a while, and only
 * an equal result counts.
 */
async function mustStayGone(dependencies: ActivityDependencies, paymentId: string): Promise<void> {
  const leftMs = dependencies.topUpGoneMs - (await noteGone(dependencies.pool, paymentId));
  if (leftMs > 0) throw stillSettling('It seems to be gone: that is looked at again.', leftMs);
}

async function sighting(
  dependencies: ActivityDependencies,
  paymentId: string,
): Promise<{ found: PaymentLookup; settlement: number; transaction?: string | undefined }> {
  const row = await readTopUp(dependencies.pool, paymentId);
  const { payment, transaction } = row;
  if (!payment) throw new Error(`top-up ${paymentId} is over and needs no watching`);
  const found = await look(networkOf(dependencies, payment), { payment, transaction });
  if (row.isGone && !(found.state === 'absent' && found.gone)) await clearGone(dependencies.pool, paymentId);
  if (found.state === 'pending') await noteSighting(dependencies.pool, { paymentId, transaction: found.transaction });
  const settlement = row.settlements;
  // It was sent as often as allowed: wait for those transactions.
  if (isMissing(found) && !canReopen(row)) return { found: { state: 'absent', gone: false }, settlement };
  return { found, settlement, transaction };
}

type AbsentPayment = Extract<PaymentLookup, { state: 'absent' }>;

function isMissing(found: PaymentLookup): found is AbsentPayment {
  return found.state === 'absent' && (found.dropped === true || found.stuck === true);
}

/** Waiting is no failure and adds nothing to the history. */
function stillSettling(message: string, nextRetryDelay?: number): ApplicationFailure {
  return ApplicationFailure.create({
    ...{ type: 'StillSettling', message, category: 'BENIGN' },
    ...(nextRetryDelay !== undefined && { nextRetryDelay }),
  });
}

function look(
  network: PaymentNetwork,
  { payment, transaction }: { payment: SignedPayment; transaction?: string | undefined },
  until = cancellationSignal(),
): Promise<PaymentLookup> {
  const signal = AbortSignal.any([until, AbortSignal.timeout(FIND_LIMIT_MS)]);
  return network.find(payment, signal, transaction);
}

/** Undefined: no certain result yet. */
function verdictOf(found: PaymentLookup): TopUpVerdict | undefined {
  switch (found.state) {
    case 'final':
      return { found: 'final', units: found.amount, transaction: found.transaction };
    case 'wrong':
      return { found: 'wrong', transaction: found.transaction, reason: found.reason };
    case 'absent':
      return found.gone ? { found: 'gone' } : undefined;
    case 'pending':
      return undefined;
  }
}

export async function concludeTopUp(
  dependencies: ActivityDependencies,
  { paymentId, verdict }: { paymentId: string; verdict: TopUpVerdict },
): Promise<TopUpProgress> {
  const before = await readTopUp(dependencies.pool, paymentId);
  if (isFinalTopUp(before.state)) return standOf(before);
  const row = await conclude(dependencies, paymentId, verdict);
  if (verdict.found === 'dropped') {
    const { network, settlements, transaction } = before;
    dependencies.log.warn(
      { paymentId, network, settlements, transaction },
      'a payment was dropped, or waits with too low a fee',
    );
    return standOf(row);
  }
  await failpoint('top-up-credited');
  tell(dependencies, row);
  return standOf(row);
}

async function conclude({ pool }: ActivityDependencies, paymentId: string, verdict: TopUpVerdict): Promise<TopUpRow> {
  switch (verdict.found) {
    case 'final':
      return await creditTopUp(pool, { paymentId, ...verdict });
    case 'wrong': {
      const { transaction, reason } = verdict;
      return await endTopUp(pool, { paymentId, state: 'wrong', transaction, reason });
    }
    case 'dropped':
      return await reopenTopUp(pool, { paymentId, ...verdict });
    case 'gone':
      return await endTopUp(pool, { paymentId, state: 'failed', reason: GONE });
  }
}

const LEVELS: Partial<Record<TopUpState, 'info' | 'error'>> = { credited: 'info', failed: 'info' };

function tell({ log }: ActivityDependencies, row: TopUpRow): void {
  const { paymentId, network, state, transaction, reason, accountId, creditedNano } = row;
  topUpsReached.labels(network, state).inc();
  const creditedUsd = creditedNano === undefined ? undefined : formatNano(creditedNano);
  // Money that moved without a credit needs an operator.
  const level = LEVELS[state] ?? 'error';
  log[level]({ paymentId, network, state, transaction, reason, accountId, creditedUsd }, 'a top-up is over');
}

function networkOf({ payments }: ActivityDependencies, { network }: SignedPayment): PaymentNetwork {
  const found = payments.get(network);
  if (!found) throw new Error(`${network} is not configured any more, and a payment on it is not over`);
  return found;
}

function standOf(row: TopUpRow): TopUpProgress {
  const { state, settlements, creditedNano, transaction, reason } = row;
  return {
    state,
    settlements,
    ...(creditedNano === undefined ? {} : { creditedUsd: creditedNano.toString() }),
    ...(transaction === undefined ? {} : { transaction }),
    ...(reason === undefined ? {} : { reason }),
  };
}
