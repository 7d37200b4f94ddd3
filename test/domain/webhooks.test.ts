import { describe, expect, it } from 'vitest';
import { JOB_STATES } from '../../domain/jobs.ts';
import {
  deliveryStateAfter,
  MAX_WEBHOOK_ATTEMPTS,
  WEBHOOK_PAUSES_MS,
  webhookErrorOf,
  webhookEventOf,
} from '../../domain/webhooks.ts';

describe('the schedule of a delivery', () => {
  it('starts within seconds, grows with every attempt and ends within a day', () => {
    const seconds = WEBHOOK_PAUSES_MS.map((pause) => pause / 1_000);
    expect(seconds).toEqual([5, 30, 120, 600, 3_600, 10_800, 21_600, 43_200]);
    const total = seconds.reduce((sum, pause) => sum + pause, 0);
    expect(total).toBeGreaterThan(22 * 3_600);
    expect(total).toBeLessThan(24 * 3_600);
  });

  it('allows several rounds of retries that a client requests', () => {
    expect(MAX_WEBHOOK_ATTEMPTS).toBeGreaterThan(3 * (WEBHOOK_PAUSES_MS.length + 1));
  });
});

describe('the meaning of an answer', () => {
  it.each([
    [200, null],
    [201, null],
    [204, null],
    [299, null],
    [300, 'redirected'],
    [301, 'redirected'],
    [304, 'redirected'],
    [307, 'redirected'],
    [308, 'redirected'],
    [400, 'refused'],
    [404, 'refused'],
    [409, 'refused'],
    [410, 'gone'],
    [429, 'refused'],
    [500, 'refused'],
    [503, 'refused'],
  ] as const)('%i is %s', (status, error) => {
    expect(webhookErrorOf(status)).toBe(error);
  });

  it.each([
    [null, false, 'delivered'],
    [null, true, 'delivered'],
    ['gone', false, 'gone'],
    ['gone', true, 'gone'],
    ['refused', false, 'pending'],
    ['redirected', false, 'pending'],
    ['unreachable', false, 'pending'],
    ['unreachable', true, 'failed'],
  ] as const)('after %s (last attempt: %s) the delivery is %s', (error, isLast, state) => {
    expect(deliveryStateAfter(error, isLast)).toBe(state);
  });
});

describe('the webhook events', () => {
  it('exist for exactly the states in which a job ends', () => {
    expect(JOB_STATES.map((state) => webhookEventOf(state) ?? null)).toEqual([
      null,
      null,
      'job.stored',
      'job.deleted',
      'job.expired',
      'job.failed',
      'job.timed_out',
      'job.cancelled',
    ]);
    expect(webhookEventOf('refused')).toBeUndefined();
  });
});
