/** Job in the public form: state, price, refunds and events. */
import { CURRENCY_NAMES } from './currencyNames.ts';
import type { JobState, TimelineEvent } from './jobs.ts';
import type { Part } from './ledger.ts';
import { nanoToNumber } from './money.ts';

export interface ShownJob {
  queueId: string;
  kind: string;
  modelId: string;
  state: JobState;
  /** Percent. */
  progress: number | null;
  durationSeconds: number | null;
  priceUsdNano: bigint;
  chargeId: string;
  refundId: string | null;
  failureMessage: string | null;
  requestId: string;
  createdAt: Date;
  endedAt: Date | null;
  /** Milliseconds. */
  elapsedMs: number;
}

export interface ShownEvent {
  event: TimelineEvent;
  at: Date;
  ledgerId: string | null;
  detail: string | null;
  amounts: readonly Part[];
}

/** Charges and refunds of a job, per currency. */
export interface ShownMoney {
  charged: readonly Part[];
  refunded: readonly Part[];
}

const NO_MONEY: ShownMoney = { charged: [], refunded: [] };

export function presentJob(job: ShownJob, money = NO_MONEY) {
  return {
    queue_id: job.queueId,
    object: 'job',
    kind: job.kind,
    model: job.modelId,
    state: job.state,
    progress: job.progress,
    duration_seconds: job.durationSeconds,
    price_usd: nanoToNumber(job.priceUsdNano),
    charge_id: job.chargeId,
    charged: money.charged.map(presentPart),
    credits_refunded: job.refundId !== null,
    refund_id: job.refundId,
    refunded: money.refunded.map(presentPart),
    error: job.failureMessage,
    request_id: job.requestId,
    created_at: job.createdAt.toISOString(),
    ended_at: job.endedAt?.toISOString() ?? null,
    execution_duration: job.elapsedMs,
  };
}

/** Answer of `GET /jobs/{queue_id}`, and content of the webhooks about the job. */
export function presentJobWithTimeline(job: ShownJob, money: ShownMoney | undefined, timeline: readonly ShownEvent[]) {
  return { ...presentJob(job, money), timeline: timeline.map(presentEvent) };
}

/**
 * Job at the moment its output was stored, for later messages about that event. Other events need no such view: nothing
 * changes after them.
 */
export function jobWhenStored<Job extends ShownJob, Event extends ShownEvent>(
  job: Job,
  timeline: readonly Event[],
): { job: Job; timeline: readonly Event[] } {
  const stored = timeline.findIndex(({ event }) => event === 'stored');
  return {
    job: { ...job, state: 'stored', endedAt: null },
    timeline: timeline.slice(0, stored === -1 ? undefined : stored + 1),
  };
}

export function presentEvent({ event, at, ledgerId, detail, amounts }: ShownEvent) {
  return { event, at: at.toISOString(), ledger_id: ledgerId, detail, amounts: amounts.map(presentPart) };
}

function presentPart({ currency, amount }: Part) {
  return { currency: CURRENCY_NAMES[currency], amount: nanoToNumber(amount) };
}
