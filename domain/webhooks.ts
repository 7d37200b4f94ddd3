/** Events, attempts and outcomes of webhooks about jobs. */
import type { JobState } from './jobs.ts';

export const WEBHOOK_EVENTS = [
  /** The output can be fetched. */
  'job.stored',
  'job.failed',
  'job.timed_out',
  'job.cancelled',
  /** The output is deleted: at the client's request, or after its retention. */
  'job.deleted',
  'job.expired',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** Events for a client that chose none: the outcome of the job. */
export const DEFAULT_WEBHOOK_EVENTS: readonly WebhookEvent[] = [
  'job.stored',
  'job.failed',
  'job.timed_out',
  'job.cancelled',
];

/** Event of a state; undefined for a state without one. */
export function webhookEventOf(state: JobState | 'refused'): WebhookEvent | undefined {
  return WEBHOOK_EVENTS.find((event) => event === `job.${state}`);
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Pauses between attempts in ms: long enough for a receiver that is down for most of a day. */
export const WEBHOOK_PAUSES_MS: readonly number[] = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
];

/** Limit of one attempt: name look-up, connection, request, first line of the answer. */
export const WEBHOOK_TIMEOUT_MS = 10 * SECOND;

/** Attempts per event, including those that the client requests. */
export const MAX_WEBHOOK_ATTEMPTS = 60;

export const WEBHOOK_URL_CHARACTERS = 2_048;

/**
 * Failures of an attempt. The client learns no more: blocked, refused and silent addresses must look the same
 * (FETCH-5).
 */
export const WEBHOOK_ERRORS = ['unreachable', 'redirected', 'gone', 'refused'] as const;
export type WebhookError = (typeof WEBHOOK_ERRORS)[number];

/** Error of a status; null: delivered. */
export function webhookErrorOf(status: number): WebhookError | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return 'redirected';
  return status === 410 ? 'gone' : 'refused';
}

/** `pending`: another attempt follows. `gone`: the receiver refuses further ones (410). */
export const DELIVERY_STATES = ['pending', 'delivered', 'failed', 'gone'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** State of a delivery after an attempt. */
export function deliveryStateAfter(error: WebhookError | null, isLast: boolean): DeliveryState {
  if (error === null) return 'delivered';
  if (error === 'gone') return 'gone';
  return isLast ? 'failed' : 'pending';
}
