/** What a client can be told about its jobs, and how patiently. */
import type { JobState } from './jobs.ts';

export const WEBHOOK_EVENTS = [
  /** The output can be fetched. */
  'job.stored',
  'job.failed',
  'job.timed_out',
  'job.cancelled',
  /** The output is gone: the client was done with it, or its retention ended. */
  'job.deleted',
  'job.expired',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** What is told when the client did not choose: how the job came out. */
export const DEFAULT_WEBHOOK_EVENTS: readonly WebhookEvent[] = [
  'job.stored',
  'job.failed',
  'job.timed_out',
  'job.cancelled',
];

/** The event that goes with a state; undefined for the states in which nothing is told. */
export function webhookEventOf(state: JobState | 'refused'): WebhookEvent | undefined {
  return WEBHOOK_EVENTS.find((event) => event === `job.${state}`);
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Between an attempt and the next one, in ms: a receiver that is down for most of a day still hears. */
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

/** Whole conversation with a receiver: name, connection, request, first line of the answer. */
export const WEBHOOK_TIMEOUT_MS = 10 * SECOND;

/** Of one event, those that the client asks for included. */
export const MAX_WEBHOOK_ATTEMPTS = 60;

export const WEBHOOK_URL_CHARACTERS = 2_048;

/**
 * Outcome of an attempt. Why nobody answered is not told: blocked, refused and silent addresses are the same to the
 * client (FETCH-5).
 */
export const WEBHOOK_ERRORS = ['unreachable', 'redirected', 'gone', 'refused'] as const;
export type WebhookError = (typeof WEBHOOK_ERRORS)[number];

/** What a status means; null: the receiver has it. */
export function webhookErrorOf(status: number): WebhookError | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return 'redirected';
  return status === 410 ? 'gone' : 'refused';
}

/** `pending`: there will be another attempt. `gone`: the receiver wants no more of it (410). */
export const DELIVERY_STATES = ['pending', 'delivered', 'failed', 'gone'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** Where a delivery stands after an attempt. */
export function deliveryStateAfter(error: WebhookError | null, isLast: boolean): DeliveryState {
  if (error === null) return 'delivered';
  if (error === 'gone') return 'gone';
  return isLast ? 'failed' : 'pending';
}
