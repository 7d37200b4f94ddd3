/** Ends a job without an output: the refund and the final state are one transaction, or neither. */

import { GIVEN_BACK, isRunning } from '../domain/jobs.ts';
import { point } from '../infra/points.ts';
import { closeOrder } from '../infra/postgres/closedOrders.ts';
import { recordEvents } from '../infra/postgres/jobEvents.ts';
import { type LockedJob, lockJob, recordEnded } from '../infra/postgres/jobs.ts';
import { refund } from '../infra/postgres/ledger.ts';
import { inTransaction } from '../infra/postgres/pool.ts';
import { mediaKey, sealedOrderKey, sourceKey } from '../infra/s3/objectKeys.ts';
import { jobsReached, refunds } from '../infra/telemetry/counters.ts';
import { describeParts } from './acceptJob.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { removeOutputs } from './removeOutputs.ts';
import { stopAtProvider } from './stopAtProvider.ts';
import type { Discarded, EndJobInput, EndJobResult } from './types.ts';

export async function endJob(dependencies: ActivityDependencies, input: EndJobInput): Promise<EndJobResult> {
  let endedHere: LockedJob | undefined;
  const ended = await inTransaction(dependencies.pool, async (client): Promise<EndJobResult> => {
    endedHere = undefined;
    const row = await lockJob(client, input.queueId);
    if (!row) throw new Error(`job ${input.queueId} has no row to end`);
    if (!isRunning(row.state)) {
      return { state: row.state, ...(row.refundId ? { refundId: row.refundId } : {}) };
    }
    const refunded = await refund(client, {
      operationId: `${input.queueId}`,
      chargeOperationId: input.queueId,
      reason: input.failure.code,
    });
    if (refunded.outcome !== 'refunded') throw new Error(`job ${input.queueId} has no charge to refund`);
    await point('refund-inserted');
    await recordEnded(client, input.queueId, {
      state: input.state,
      refundId: refunded.refundId,
      failureCode: input.failure.code,
      failureMessage: input.failure.message,
    });
    await recordEvents(client, input.queueId, [
      { event: input.state, detail: input.failure.message },
      { event: 'refunded', ledgerId: refunded.refundId, detail: describeParts(refunded.parts) },
    ]);
    await point('end-recorded');
    endedHere = row;
    return { state: input.state, refundId: refunded.refundId };
  });
  await point('refund-lost');
  if (endedHere !== undefined) {
    const { modelId, provider, operation } = endedHere;
    jobsReached.labels(modelId, input.state).inc();
    refunds.labels(modelId, input.failure.code).inc();
    // Beside this step: the client who cancelled waits for its answer, not for the provider's.
    const stops = operation !== null && input.state !== 'failed';
    if (stops) void stopAtProvider(dependencies, { queueId: input.queueId, provider, operation });
  }
  // A late output of a provider that came after all belongs to nobody.
  if (ended.state !== 'stored') await removeOutputs(dependencies, input.queueId);
  await discardSource(dependencies, input);
  return ended;
}

/** Removes what the client handed in: the bytes and, where there may be one, the sealed order. */
export async function discardSource(
  dependencies: ActivityDependencies,
  { queueId, mediaCount }: Discarded,
  from: 'upload' | 'url' = 'url',
): Promise<void> {
  const { storage } = dependencies;
  // Audio and video orders have no source; what media they have are numbered.
  const media = Array.from({ length: mediaCount ?? 0 }, (_, index) => mediaKey(queueId, index));
  await Promise.all([
    mediaCount === undefined ? storage.remove(sourceKey(queueId)) : undefined,
    from === 'url' ? storage.remove(sealedOrderKey(queueId)) : undefined,
    ...media.map((key) => storage.remove(key)),
  ]);
}

/**
 * After an acceptance of unknown outcome: gives back what the books say was taken, and leaves nothing behind. An attempt
 * to accept that is still under way finds the order closed.
 */
export async function abandonJob(
  dependencies: ActivityDependencies,
  { accountId, ...discarded }: Discarded & { accountId: string },
): Promise<void> {
  const { queueId } = discarded;
  const row = await inTransaction(dependencies.pool, async (client) => {
    await closeOrder(client, { queueId, accountId });
    return await lockJob(client, queueId);
  });
  if (row) {
    await endJob(dependencies, { ...discarded, state: 'failed', failure: GIVEN_BACK });
  }
  await discardSource(dependencies, discarded);
}
