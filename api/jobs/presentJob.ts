/** A job as its owner sees it: where it stands, what it cost, what came back, and what happened when. */
import type { Part } from '../../domain/ledger.ts';
import { nanoToNumber } from '../../domain/money.ts';
import type { RecordedEvent } from '../../infra/postgres/jobEvents.ts';
import type { JobMoney } from '../../infra/postgres/jobMoney.ts';
import type { JobRow } from '../../infra/postgres/jobs.ts';
import { CURRENCY_NAMES } from '../currencyNames.ts';

const NO_MONEY: JobMoney = { charged: [], refunded: [] };

export function presentJob(job: JobRow, money: JobMoney = NO_MONEY) {
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

export function presentEvent({ event, at, ledgerId, detail, amounts }: RecordedEvent) {
  return { event, at: at.toISOString(), ledger_id: ledgerId, detail, amounts: amounts.map(presentPart) };
}

function presentPart({ currency, amount }: Part) {
  return { currency: CURRENCY_NAMES[currency], amount: nanoToNumber(amount) };
}
