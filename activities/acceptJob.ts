/** Charges for a measured source and makes the job exist, in one transaction: neither is ever seen without the other. */

import { FareboxError } from '../domain/errors.ts';
import { formatNano } from '../domain/money.ts';
import { billableSeconds, quoteVoiceChanger } from '../domain/pricing.ts';
import { INSUFFICIENT, keyLimitReached } from '../domain/refusals.ts';
import { point } from '../infra/points.ts';
import { closeOrder } from '../infra/postgres/closedOrders.ts';
import { findJob, insertJob, lockJob } from '../infra/postgres/jobs.ts';
import { type Charge, type ChargeOutcome, charge, findCharge } from '../infra/postgres/ledger.ts';
import { inTransaction, type SqlClient } from '../infra/postgres/pool.ts';
import { jobsReached } from '../infra/telemetry/counters.ts';
import type { GenerationInput } from '../workflows/contract.ts';
import type { ActivityDependencies } from './dependencies.ts';
import type { AcceptJobResult, MeasuredSource } from './types.ts';

interface Order {
  job: GenerationInput;
  source: MeasuredSource;
}

/**
 * Whoever runs this a second time need not know that there was a first: its charge stands although its answer was lost, and
 * time, catalogue and prices may have moved on since. So before anything is refused the books are asked.
 */
export async function acceptJob(dependencies: ActivityDependencies, order: Order): Promise<AcceptJobResult> {
  const result = await accept(dependencies, order);
  return result.ok ? result : ((await standing(dependencies, order.job)) ?? result);
}

async function standing(
  { pool }: ActivityDependencies,
  { queueId, accountId }: GenerationInput,
): Promise<AcceptJobResult | undefined> {
  const row = await findJob(pool, { queueId, accountId });
  if (!row) return undefined;
  const { durationSeconds, chargeId, priceUsdNano } = row;
  const charged = await findCharge(pool, queueId);
  const paid = describeParts(charged?.parts ?? []);
  return { ok: true, durationSeconds, chargeId, priceUsd: priceUsdNano.toString(), paid };
}

async function accept(dependencies: ActivityDependencies, order: Order): Promise<AcceptJobResult> {
  const { job, source } = order;
  const model = dependencies.models.get(job.modelId);
  if (model?.kind !== 'voice-changer')
    return { ok: false, code: 'model_not_found', message: 'Specified model not found' };
  const durationSeconds = billableSeconds(source.decodedSeconds, source.lossy);
  const price = quoteVoiceChanger(model, durationSeconds);
  if (!price)
    return { ok: false, code: 'media_too_long', message: 'The recording is longer than this model takes.' };
  const outcome = await unlessLate(dependencies, async (client) => {
    await point('tx-begin');
    const charged = await charge(client, {
      operationId: job.queueId,
      accountId: job.accountId,
      keyId: job.keyId,
      price,
      snapshot: snapshotOf(order, durationSeconds, price.usd),
    });
    await point('charge-inserted');
    if (charged.outcome !== 'charged') {
      await closeOrder(client, job);
      return charged;
    }
    await writeJob(client, order, { durationSeconds, priceUsdNano: price.usd, charged });
    await point('job-inserted');
    return charged;
  });
  await point('commit-lost');
  if (outcome === 'late') return TOO_LATE;
  if (outcome.outcome === 'charged' && !outcome.replayed) jobsReached.labels(job.modelId, 'accepted').inc();
  if (outcome.outcome === 'insufficient') return { ok: false, ...INSUFFICIENT };
  if (outcome.outcome === 'key_limit') return { ok: false, ...keyLimitReached(outcome.currency) };
  return {
    ok: true,
    durationSeconds,
    chargeId: outcome.chargeId,
    priceUsd: price.usd.toString(),
    paid: describeParts(outcome.parts),
  };
}

/**
 * Lateness is decided under the lock of the account, by the database clock: a run that stood still before it took the lock
 * is late as well when it wakes, and one that holds the lock is waited for.
 */
async function unlessLate<T>(
  { pool }: ActivityDependencies,
  work: (client: SqlClient) => Promise<T>,
): Promise<T | 'late'> {
  try {
    return await inTransaction(pool, work);
  } catch (error) {
    if (error instanceof Late) return 'late';
    throw error;
  }
}

class Late extends Error {}

const TOO_LATE: AcceptJobResult = {
  ok: false,
  code: 'unavailable',
  message: 'The job could not be accepted in time. Nothing was charged; please try again.',
};

function snapshotOf({ job }: Order, durationSeconds: number, priceUsdNano: bigint): Charge['snapshot'] {
  return {
    sku: `${job.modelId}-audio-minute`,
    modelId: job.modelId,
    provider: job.provider,
    unit: 'minute',
    units: Math.ceil(durationSeconds / 60).toString(),
    pricePerUnitUsd: (priceUsdNano / BigInt(Math.ceil(durationSeconds / 60))).toString(),
    requestId: job.requestId,
    durationSeconds,
    queueId: job.queueId,
  };
}

async function writeJob(
  client: SqlClient,
  { job, source }: Order,
  terms: {
    durationSeconds: number;
    priceUsdNano: bigint;
    charged: Extract<ChargeOutcome, { outcome: 'charged' }>;
  },
): Promise<void> {
  const { durationSeconds, priceUsdNano, charged } = terms;
  const row = {
    queueId: job.queueId,
    accountId: job.accountId,
    keyId: job.keyId,
    kind: job.kind,
    modelId: job.modelId,
    provider: job.provider,
    requestId: job.requestId,
    durationSeconds,
    priceUsdNano,
    chargeId: charged.chargeId,
    deadlineMs: job.timing.deadlineMs,
    acceptBy: job.acceptBy,
  };
  const measured = `${source.decodedSeconds.toFixed(3)} s of ${source.format}`;
  const inserted = await insertJob(client, row, [
    { event: 'measured', at: source.measuredAt, detail: measured },
    { event: 'charged', ledgerId: charged.chargeId, detail: describeParts(charged.parts) },
  ]);
  if (inserted) return;
  // A repeated step finds its own row; anything else would be another's job under this id.
  const existing = await lockJob(client, job.queueId);
  if (!existing) throw new Late();
  if (existing.accountId !== job.accountId) {
    throw new FareboxError({ code: 'conflict', message: 'This queue_id belongs to another job.' });
  }
}

/** "0.05 usd", or "0.02 diem + 0.03 usd" when a price was split. */
export function describeParts(parts: readonly { currency: string; amount: bigint }[]): string {
  return parts.map(({ currency, amount }) => `${formatNano(amount)} ${currency}`).join(' + ') || 'nothing';
}
