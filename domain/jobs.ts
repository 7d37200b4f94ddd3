/** States of a job and the moves between them. A state only moves forward (JOB-1). */

export const JOB_STATES = [
  /** Measured and charged; not sent to the provider yet. */
  'accepted',
  /** Sent to the provider, or about to be: from here on the provider may have done work. */
  'submitted',
  /** The output is in storage: the charge is kept. */
  'stored',
  /** The output was deleted: the client completed the job, or asked for deletion on delivery. Final. */
  'deleted',
  /** The output was deleted after its retention. Final; the charge is kept. */
  'expired',
  /** The provider refused or failed; refunded. Final. */
  'failed',
  /** The job's deadline passed before an output was stored; refunded. Final. */
  'timed_out',
  /** The client cancelled before an output was stored; refunded. Final. */
  'cancelled',
] as const;
export type JobState = (typeof JOB_STATES)[number];

const NEXT: Record<JobState, readonly JobState[]> = {
  accepted: ['submitted', 'stored', 'failed', 'timed_out', 'cancelled'],
  submitted: ['stored', 'failed', 'timed_out', 'cancelled'],
  stored: ['deleted', 'expired'],
  deleted: [],
  expired: [],
  failed: [],
  timed_out: [],
  cancelled: [],
};

/** States from which a job may enter `to`; SQL that changes a row names exactly these. */
export function predecessors(to: JobState): JobState[] {
  return JOB_STATES.filter((state) => NEXT[state].includes(to));
}

export function isFinal(state: JobState): boolean {
  return NEXT[state].length === 0;
}

/** True while the job can still end without an output, that is, while a refund is still possible. */
export function isRunning(state: JobState): boolean {
  return state === 'accepted' || state === 'submitted';
}

/** Events of the timeline of a job, in their normal order. */
export type TimelineEvent =
  | 'consented'
  | 'measured'
  | 'charged'
  | 'submitted'
  | 'acknowledged'
  | 'stored'
  | 'delivered'
  | 'completed'
  | 'deleted'
  | 'expired'
  | 'failed'
  | 'timed_out'
  | 'cancelled'
  | 'refunded';

export const JOB_KINDS = ['voice-changer', 'audio', 'video'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/** End of a job that was charged without a client being told of its acceptance. */
export const GIVEN_BACK = {
  code: 'unavailable',
  message: 'The job could not be accepted in time.',
} as const;

/** A repeated order creates a new job: no client was told of this one. */
export function wasWithdrawn(job: {
  state: JobState;
  failureCode: string | null;
  failureMessage: string | null;
}): boolean {
  return job.state === 'failed' && job.failureCode === GIVEN_BACK.code && job.failureMessage === GIVEN_BACK.message;
}
