import { describe, expect, it } from 'vitest';
import {
  jobWhenStored,
  presentEvent,
  presentJob,
  presentJobWithTimeline,
  type ShownEvent,
  type ShownJob,
} from '../../domain/presentJob.ts';

const JOB: ShownJob = {
  queueId: 'queue-1',
  kind: 'video',
  modelId: 'film',
  state: 'failed',
  progress: 40,
  durationSeconds: 5,
  priceUsdNano: 1_234_567_891n,
  chargeId: 'charge-1',
  refundId: 'refund-1',
  failureMessage: 'The provider refused the request.',
  requestId: 'request-1',
  createdAt: new Date('2026-03-01T12:00:00.250Z'),
  endedAt: new Date('2026-03-01T12:01:00Z'),
  elapsedMs: 59_750,
};

const event = (name: ShownEvent['event'], minute: number): ShownEvent => ({
  ...{ event: name, at: new Date(Date.UTC(2026, 2, 1, 12, minute)) },
  ...{ ledgerId: null, detail: null, amounts: [] },
});

describe("a job in its owner's view", () => {
  it('has every member, with money in whole units and times in ISO format', () => {
    const money = {
      charged: [
        { currency: 'diem', amount: 500_000_000n },
        { currency: 'bundled', amount: 1n },
      ],
      refunded: [{ currency: 'usd', amount: 1_234_567_891n }],
    } as const;
    expect(presentJob(JOB, money)).toEqual({
      queue_id: 'queue-1',
      object: 'job',
      kind: 'video',
      model: 'film',
      state: 'failed',
      progress: 40,
      duration_seconds: 5,
      price_usd: 1.234567891,
      charge_id: 'charge-1',
      charged: [
        { currency: 'DIEM', amount: 0.5 },
        { currency: 'BUNDLED_CREDITS', amount: 1e-9 },
      ],
      credits_refunded: true,
      refund_id: 'refund-1',
      refunded: [{ currency: 'USD', amount: 1.234567891 }],
      error: 'The provider refused the request.',
      request_id: 'request-1',
      created_at: '2026-03-01T12:00:00.250Z',
      ended_at: '2026-03-01T12:01:00.000Z',
      execution_duration: 59_750,
    });
  });

  it('has null for everything that has not happened', () => {
    const running: ShownJob = {
      ...JOB,
      ...{ state: 'submitted', progress: null, durationSeconds: null, refundId: null },
      ...{ failureMessage: null, endedAt: null },
    };
    expect(presentJob(running)).toMatchObject({
      ...{ progress: null, duration_seconds: null, refund_id: null, error: null, ended_at: null },
      ...{ credits_refunded: false, charged: [], refunded: [] },
    });
    expect(Object.values(presentJob(running))).not.toContain(undefined);
  });

  it('lists its events in order, with the amounts that each moved', () => {
    const charged: ShownEvent = {
      ...event('charged', 0),
      ...{
        ledgerId: 'charge-1',
        detail: '2 seconds',
        amounts: [{ currency: 'vcu', amount: 2_500_000_000n }],
      },
    };
    expect(presentEvent(charged)).toEqual({
      ...{ event: 'charged', at: '2026-03-01T12:00:00.000Z', ledger_id: 'charge-1', detail: '2 seconds' },
      amounts: [{ currency: 'VCU', amount: 2.5 }],
    });
    const shown = presentJobWithTimeline(JOB, undefined, [charged, event('failed', 1)]);
    expect(shown.timeline.map((each) => each.event)).toEqual(['charged', 'failed']);
    expect(shown).toMatchObject(presentJob(JOB));
  });
});

describe('a job at the time when its output was stored', () => {
  const timeline = [event('charged', 0), event('stored', 1), event('delivered', 2), event('deleted', 3)];

  it('has not ended, and has no later events', () => {
    const deleted: ShownJob = { ...JOB, state: 'deleted', refundId: null, failureMessage: null };
    const then = jobWhenStored(deleted, timeline);
    expect(then.job).toEqual({ ...deleted, state: 'stored', endedAt: null });
    expect(then.timeline).toEqual(timeline.slice(0, 2));
  });

  it('keeps all events when none says that it was stored', () => {
    const events = timeline.filter(({ event: name }) => name !== 'stored');
    expect(jobWhenStored(JOB, events).timeline).toEqual(events);
  });

  it('does not change its input', () => {
    const [job, events] = [{ ...JOB }, [...timeline]];
    jobWhenStored(job, events);
    expect([job, events]).toEqual([JOB, timeline]);
  });
});
