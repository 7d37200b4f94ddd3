/** Ends a job without an output: refund and final state in one transaction. */
import { ApplicationFailure } from '@temporalio/activity';
import { GIVEN_BACK, isRunning } from '../domain/jobs.ts';
import { failpoint } from '../infra/failpoints.ts';
import { closeOrder } from '../infra/postgres/closedOrders.ts';
import { announceJob } from '../infra/postgres/jobChanges.ts';
import { recordEvents } from '../infra/postgres/jobEvents.ts';
import { type LockedJob, lockJob, readJob, recordEnded, recordRemoved } from '../infra/postgres/jobs.ts';
import { refund } from '../infra/postgres/ledger.ts';
import type { SqlClient } from '../infra/postgres/pool.ts';
import {
  type CountedSpend,
  type RefundedSpend,
  returnRefundBudget,
  takeRefundBudget,
} from '../infra/postgres/refundBudget.ts';
import { mediaKey, outputPrefix, sealedOrderKey, sourceKey } from '../infra/s3/objectKeys.ts';
import { jobsReached, refundFailures, refunds } from '../infra/telemetry/counters.ts';
import { describeParts, findAcceptedTerms } from './acceptJob.ts';
import { inAccountTransaction } from './accountTransaction.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { stopAtProvider } from './stopAtProvider.ts';
import type { AcceptedTerms, EndJobInput, EndJobResult, SourceDiscard } from './types.ts';

export async function endJob(dependencies: ActivityDependencies, input: EndJobInput): Promise<EndJobResult> {
  const { before, counted, isStopped, ...ended } = await endOrStopAtProvider(dependencies, input);
  if (ended.refused) return ended;
  await failpoint('refund-lost');
  if (before) {
    await announceJob(dependencies.pool, input.queueId).catch((err: unknown) =>
      dependencies.log.warn({ err, queueId: input.queueId }, 'the end of a job was not announced'),
    );
    jobsReached.labels(before.modelId, input.state).inc();
    refunds.labels(before.modelId, input.failure.code).inc();
    // Runs beside this step: a client that cancelled waits for its answer, not for the provider's.
    if (input.state !== 'failed' && !isStopped) void stopAndReturn(dependencies, input.queueId, { before, counted });
  }
  // A late output of the provider is removed.
  if (ended.state !== 'stored') await removeOutputs(dependencies, input.queueId);
  await discardSource(dependencies, input);
  return ended;
}

interface JobEnd extends EndJobResult {
  /** The previous row, if this call ended or refused it. */
  before?: LockedJob;
  /** Amount taken from the budget of refunds. */
  counted?: CountedSpend;
  /** The provider confirmed before the refund that it stopped without cost. */
  isStopped?: boolean;
}

/** When the budget is spent, the provider may still have stopped: then there is nothing to pay for. */
async function endOrStopAtProvider(dependencies: ActivityDependencies, input: EndJobInput): Promise<JobEnd> {
  const { queueId } = input;
  const ended = await refundAndEnd(dependencies, input);
  if (!ended.refused || !ended.before) return ended;
  const isStopped = await stopAtProvider(dependencies, { queueId, ...ended.before });
  if (!isStopped) return ended;
  // Nothing is owed to the provider, so the refund does not count against the budget of this client.
  return { ...(await refundAndEnd(dependencies, { ...input, isEndedByClient: false })), isStopped };
}

async function refundAndEnd(dependencies: ActivityDependencies, input: EndJobInput): Promise<JobEnd> {
  const { pool, log } = dependencies;
  try {
    const job = await readJob(pool, input.queueId);
    if (!job) throw new Error(`job ${input.queueId} has no row to end`);
    return await inAccountTransaction(dependencies, job.accountId, (client) => refundIn(client, dependencies, input));
  } catch (err) {
    if (err instanceof ApplicationFailure) throw err;
    // The caller retries without limit: an operator has to see that it does not succeed.
    refundFailures.labels(input.failure.code).inc();
    log.error({ err, queueId: input.queueId, state: input.state }, 'a job could not be ended and refunded');
    throw err;
  }
}

async function refundIn(
  client: SqlClient,
  dependencies: ActivityDependencies,
  { queueId, state, failure, isEndedByClient, isWithdrawal }: EndJobInput,
): Promise<JobEnd> {
  const row = await lockJob(client, queueId);
  if (!row) throw new Error(`job ${queueId} has no row to end`);
  if (!isRunning(row.state)) {
    return { state: row.state, ...(row.refundId ? { refundId: row.refundId } : {}) };
  }
  if (isWithdrawal && row.isAcceptanceSent) return { state: row.state, refused: 'acceptance_sent' };
  const spend = isEndedByClient ? spendOf(dependencies, row) : undefined;
  const counted = spend && (await takeRefundBudget(client, spend, dependencies.refundedPerDay(row.accountId)));
  if (spend && !counted) return { state: row.state, refused: 'refund_budget', before: row };
  const { code: reason, message } = failure;
  const refunded = await refund(client, { operationId: queueId, chargeOperationId: queueId, reason });
  if (refunded.outcome !== 'refunded') throw new Error(`job ${queueId} has no charge to refund`);
  const { refundId, parts } = refunded;
  await failpoint('refund-inserted');
  await recordEnded(client, queueId, { state, refundId, failureCode: reason, failureMessage: message });
  await recordEvents(client, queueId, [
    { event: state, detail: message },
    { event: 'refunded', ledgerId: refundId, detail: describeParts(parts) },
  ]);
  await failpoint('end-recorded');
  return { state, refundId, before: row, ...(counted && { counted }) };
}

/** Amount that a provider is paid for a job; undefined when none was called yet, or the work is local. */
function spendOf(
  { providers }: ActivityDependencies,
  { accountId, provider, isAsked, priceUsdNano: usd }: LockedJob,
): RefundedSpend | undefined {
  if (!isAsked || usd === 0n || providers.get(provider)?.repeatable) return undefined;
  return { accountId, usd };
}

async function stopAndReturn(
  dependencies: ActivityDependencies,
  queueId: string,
  { before, counted }: { before: LockedJob; counted: CountedSpend | undefined },
): Promise<void> {
  const isStopped = await stopAtProvider(dependencies, { queueId, ...before });
  if (!isStopped || !counted) return;
  await returnRefundBudget(dependencies.pool, counted).catch((err: unknown) =>
    dependencies.log.warn({ err, queueId }, 'the budget of refunds was not given back'),
  );
}

/** Removes the source of the client and, if there is one, the sealed order. */
export async function discardSource(
  dependencies: ActivityDependencies,
  { queueId, mediaCount }: SourceDiscard,
  from: 'upload' | 'url' = 'url',
): Promise<void> {
  const { storage } = dependencies;
  // Audio and video orders have no source; their media are numbered.
  const media = Array.from({ length: mediaCount ?? 0 }, (_, index) => mediaKey(queueId, index));
  await Promise.all([
    mediaCount === undefined ? storage.remove(sourceKey(queueId)) : undefined,
    from === 'url' ? storage.remove(sealedOrderKey(queueId)) : undefined,
    ...media.map((key) => storage.remove(key)),
  ]);
}

/**
 * Compensates an acceptance of unknown outcome: refunds the charge on record, and removes the job. A running attempt to
 * accept finds the order closed. A job whose client was told that it stands is left as it is, and its terms are
 * returned.
 */
export async function abandonJob(
  dependencies: ActivityDependencies,
  { accountId, ...discarded }: SourceDiscard & { accountId: string },
): Promise<AcceptedTerms | undefined> {
  const { queueId } = discarded;
  const row = await inAccountTransaction(dependencies, accountId, async (client) => {
    await closeOrder(client, { queueId, accountId });
    return await lockJob(client, queueId);
  });
  if (row) {
    const withdrawal = { state: 'failed', failure: GIVEN_BACK, isWithdrawal: true } as const;
    const ended = await endJob(dependencies, { ...discarded, ...withdrawal });
    if (ended.refused) return await findAcceptedTerms(dependencies, { queueId, accountId });
  }
  await discardSource(dependencies, discarded);
  return undefined;
}

/** Removes outputs of attempts from the folder of a job, except the one that counts. */
export async function removeOutputs(
  dependencies: ActivityDependencies,
  queueId: string,
  except?: string,
): Promise<void> {
  const { objects } = await dependencies.storage.list(outputPrefix(queueId));
  for (const { key } of objects) {
    if (key !== except) await dependencies.storage.remove(key);
  }
}

/**
 * Removes a stored output: first the object, then the state in the row, so that the row never claims a removal too
 * early.
 */
export async function removeMedia(
  dependencies: ActivityDependencies,
  { queueId, as }: { queueId: string; as: 'deleted' | 'expired' },
): Promise<void> {
  await removeOutputs(dependencies, queueId);
  await discardSource(dependencies, { queueId });
  await failpoint('media-removed');
  const model = await recordRemoved(dependencies.pool, queueId, as);
  if (model !== undefined) jobsReached.labels(model, as).inc();
  await recordEvents(dependencies.pool, queueId, [{ event: as }]);
  await failpoint('removal-recorded');
}
