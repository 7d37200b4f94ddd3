/** A job as its owner sees it: where it stands, what it cost, what came back, and what happened when. */
import { nanoToNumber } from '../../domain/money.ts';
import type { RecordedEvent } from '../../infra/postgres/jobEvents.ts';
import type { JobRow } from '../../infra/postgres/jobs.ts';

export function presentJob(job: JobRow) {
  return {
    queue_id: job.queueId,
    object: 'job',
    kind: job.kind,
    model: job.modelId,
    state: job.state,
    duration_seconds: job.durationSeconds,
    price_usd: nanoToNumber(job.priceUsdNano),
    charge_id: job.chargeId,
    credits_refunded: job.refundId !== null,
    refund_id: job.refundId,
    error: job.failureMessage,
    request_id: job.requestId,
    created_at: job.createdAt.toISOString(),
    ended_at: job.endedAt?.toISOString() ?? null,
    execution_duration: job.elapsedMs,
  };
}

export function presentEvent({ event, at, ledgerId, detail }: RecordedEvent) {
  return { event, at: at.toISOString(), ledger_id: ledgerId, detail };
}
