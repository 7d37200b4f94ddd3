/** Charges for a measured source and inserts the job, in one transaction: neither is ever visible without the other. */

import { FareboxError } from '../domain/errors.ts';
import { formatNano } from '../domain/money.ts';
import { INSUFFICIENT, keyLimitReached } from '../domain/refusals.ts';
import { failpoint } from '../infra/failpoints.ts';
import { closeOrder } from '../infra/postgres/closedOrders.ts';
import { findJob, insertJob, lockJob } from '../infra/postgres/jobs.ts';
import { type Charge, type ChargeOutcome, charge, findCharge } from '../infra/postgres/ledger.ts';
import type { SqlClient } from '../infra/postgres/pool.ts';
import { jobsReached } from '../infra/telemetry/counters.ts';
import type { GenerationInput } from '../workflows/contract.ts';
import { inAccountTransaction } from './accountTransaction.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { type JobTerms, jobTerms, type MeasuredOrder } from './jobTerms.ts';
import type { AcceptedTerms, AcceptJobResult } from './types.ts';

/**
 * A repetition may not know of an earlier attempt whose charge stands although its answer was lost; time, catalogue and
 * prices may have changed since. So the database is read before anything is refused.
 */
export async function acceptJob(dependencies: ActivityDependencies, order: MeasuredOrder): Promise<AcceptJobResult> {
  const result = await accept(dependencies, order);
  if (result.ok) return result;
  const terms = await findAcceptedTerms(dependencies, order.job);
  return terms ? { ok: true, ...terms } : result;
}

/** Terms of an accepted job; undefined when there is none. */
export async function findAcceptedTerms(
  { pool }: ActivityDependencies,
  { queueId, accountId }: Pick<GenerationInput, 'queueId' | 'accountId'>,
): Promise<AcceptedTerms | undefined> {
  const row = await findJob(pool, { queueId, accountId });
  if (!row) return undefined;
  const { durationSeconds, chargeId, priceUsdNano } = row;
  const charged = await findCharge(pool, queueId);
  const paid = describeParts(charged?.parts ?? []);
  const terms = { chargeId, priceUsd: priceUsdNano.toString(), paid };
  return { ...(durationSeconds === null ? {} : { durationSeconds }), ...terms };
}

async function accept(dependencies: ActivityDependencies, order: MeasuredOrder): Promise<AcceptJobResult> {
  const { job } = order;
  const found = jobTerms(dependencies.models.get(job.modelId), order);
  if (!found.ok) return found;
  const { terms, durationSeconds } = found;
  const outcome = await unlessLate(dependencies, job.accountId, async (client) => {
    await failpoint('tx-begin');
    const charged = await charge(client, {
      operationId: job.queueId,
      accountId: job.accountId,
      keyId: job.keyId,
      price: terms.price,
      snapshot: snapshotOf(job, found),
    });
    await failpoint('charge-inserted');
    if (charged.outcome !== 'charged') {
      await closeOrder(client, job);
      return charged;
    }
    await writeJob(client, order, { ...found, charged });
    await failpoint('job-inserted');
    return charged;
  });
  await failpoint('commit-lost');
  if (outcome === 'late') return TOO_LATE;
  if (outcome.outcome === 'charged' && !outcome.replayed) jobsReached.labels(job.modelId, 'accepted').inc();
  if (outcome.outcome === 'insufficient') return { ok: false, ...INSUFFICIENT };
  if (outcome.outcome === 'key_limit') return { ok: false, ...keyLimitReached(outcome.currency) };
  return {
    ok: true,
    ...(durationSeconds === undefined ? {} : { durationSeconds }),
    chargeId: outcome.chargeId,
    priceUsd: terms.price.usd.toString(),
    paid: describeParts(outcome.parts),
  };
}

/**
 * Lateness is decided under the lock of the account, by the database clock: an attempt that was suspended before it
 * took the lock is late when it resumes, and one that holds the lock is waited for.
 */
async function unlessLate<T>(
  dependencies: ActivityDependencies,
  accountId: string,
  work: (client: SqlClient) => Promise<T>,
): Promise<T | 'late'> {
  try {
    return await inAccountTransaction(dependencies, accountId, work);
  } catch (error) {
    if (error instanceof LateAcceptance) return 'late';
    throw error;
  }
}

class LateAcceptance extends Error {}

const TOO_LATE: AcceptJobResult = {
  ok: false,
  code: 'unavailable',
  message: 'The job could not be accepted in time. Nothing was charged; please try again.',
};

function snapshotOf(job: GenerationInput, { terms, durationSeconds }: JobTerms): Charge['snapshot'] {
  return {
    sku: terms.sku,
    modelId: job.modelId,
    provider: job.provider,
    unit: terms.unit,
    units: terms.units,
    pricePerUnitUsd: terms.pricePerUnitUsd.toString(),
    requestId: job.requestId,
    ...(durationSeconds === undefined ? {} : { durationSeconds }),
    queueId: job.queueId,
  };
}

interface ChargedTerms extends JobTerms {
  charged: Extract<ChargeOutcome, { outcome: 'charged' }>;
}

async function writeJob(
  client: SqlClient,
  { job, source }: MeasuredOrder,
  { terms, durationSeconds, measured, charged }: ChargedTerms,
): Promise<void> {
  const row = {
    queueId: job.queueId,
    accountId: job.accountId,
    keyId: job.keyId,
    kind: job.kind,
    modelId: job.modelId,
    provider: job.provider,
    requestId: job.requestId,
    durationSeconds: durationSeconds ?? null,
    priceUsdNano: terms.price.usd,
    chargeId: charged.chargeId,
    deadlineMs: job.timing.deadlineMs,
    acceptBy: job.acceptBy,
  };
  const consent = job.kind === 'video' ? job.consentVersion : undefined;
  const at = source.measuredAt === undefined ? {} : { at: source.measuredAt };
  const inserted = await insertJob(client, row, [
    ...(consent === undefined ? [] : [{ event: 'consented', ...at, detail: consent } as const]),
    ...(measured === undefined ? [] : [{ event: 'measured', ...at, detail: measured } as const]),
    { event: 'charged', ledgerId: charged.chargeId, detail: describeParts(charged.parts) },
  ]);
  if (inserted) return;
  // A repeated step finds its own row; a different row would be another job under this id.
  const existing = await lockJob(client, job.queueId);
  if (!existing) throw new LateAcceptance();
  if (existing.accountId !== job.accountId) {
    throw new FareboxError({ code: 'conflict', message: 'This queue_id belongs to another job.' });
  }
}

/** "0.05 usd", or "0.02 diem + 0.03 usd" when a price was split. */
export function describeParts(parts: readonly { currency: string; amount: bigint }[]): string {
  return parts.map(({ currency, amount }) => `${formatNano(amount)} ${currency}`).join(' + ') || 'nothing';
}
