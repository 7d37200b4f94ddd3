/** Inputs and results of the activities: plain JSON, small, without media bytes and without text of users. */
import type { AudioFormat } from '../domain/catalogue/model.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { MeasuredMedium } from '../domain/generation/media.ts';
import type { JobState } from '../domain/jobs.ts';
import type { WebhookError, WebhookEvent } from '../domain/webhooks.ts';
import type { GenerationInput, TopUpInput, TopUpResult, UpkeepDuty, UpkeepOptions } from '../workflows/contract.ts';

export interface MeasuredSource {
  sizeBytes: number;
  sha256: string;
  format: AudioFormat;
  demuxer: string;
  contentType: string;
  /** Seconds of decoded sound. */
  decodedSeconds: number;
  lossy: boolean;
  /** ISO 8601, by the worker's clock: for the timeline only. */
  measuredAt: string;
}

/** Media of an audio or video order: often none. */
export interface MeasuredMedia {
  media: MeasuredMedium[];
  /** As for a source; absent when there was nothing to measure. */
  measuredAt?: string;
}

export type Measurement = MeasuredSource | MeasuredMedia;

export type MeasureResult = { ok: true; source: Measurement } | Refusal;

export interface Refusal {
  ok: false;
  code: ErrorCode;
  message: string;
  fields?: Record<string, string[]>;
}

/** Charged terms of a job. */
export interface AcceptedTerms {
  durationSeconds?: number;
  chargeId: string;
  priceUsd: string;
  paid: string;
}

export type AcceptJobResult = ({ ok: true } & AcceptedTerms) | Refusal;

/** The provider's own handle of a running generation. */
export type OperationHandle = { [key: string]: string | number | boolean };

/** Result of a step of a provider. Everything but `stored` leaves the job running or ends it. */
export type GenerateResult =
  | { kind: 'stored' }
  | { kind: 'running'; operation: OperationHandle }
  | { kind: 'busy'; retryAfterMs: number }
  | { kind: 'failed'; code: ErrorCode; message: string }
  /** The provider may have accepted the order. `askable`: it can be asked by our reference. */
  | { kind: 'unknown'; askable: boolean }
  /** The job was ended meanwhile; nothing was kept. */
  | { kind: 'ended' };

/** Job whose source is removed; number of media of its order. */
export interface SourceDiscard {
  queueId: string;
  mediaCount?: number;
}

export interface EndJobInput extends SourceDiscard {
  state: Extract<JobState, 'failed' | 'timed_out' | 'cancelled'>;
  failure: { code: ErrorCode; message: string };
  /** The client ended the job: its price counts against the refund budget of the day. */
  isEndedByClient?: boolean;
  /** Withdraws the order, only if no response said that it stands. */
  isWithdrawal?: boolean;
}

/** `state`: state in the row; `stored` when the output came first and the job therefore stands. */
export interface EndJobResult {
  state: JobState;
  refundId?: string;
  /**
   * The job goes on: the budget of the day is spent and the provider does not stop, or its client was told that it
   * stands.
   */
  refused?: 'refund_budget' | 'acceptance_sent';
}

export interface JobsActivities {
  acceptJob(input: { job: GenerationInput; source: Measurement }): Promise<AcceptJobResult>;
  discardSource(input: SourceDiscard): Promise<void>;
  endJob(input: EndJobInput): Promise<EndJobResult>;
  /**
   * Compensates an acceptance of unknown outcome. A job whose client was told that it stands is not ended: its terms
   * are returned, and it goes on.
   */
  abandonJob(input: SourceDiscard & { accountId: string }): Promise<AcceptedTerms | undefined>;
  removeMedia(input: { queueId: string; as: 'deleted' | 'expired' }): Promise<void>;
}

export interface MediaActivities {
  measureSource(input: { job: GenerationInput }): Promise<MeasureResult>;
}

export interface ProviderActivities {
  generate(input: { job: GenerationInput; source: Measurement }): Promise<GenerateResult>;
  /** Polls a running generation; throws the retryable `StillRunning` until there is an outcome. */
  awaitOutcome(input: { job: GenerationInput; operation: OperationHandle }): Promise<GenerateResult>;
}

export interface WebhookAttempt {
  queueId: string;
  event: WebhookEvent;
  /** Number of the attempt in this run, from 1. */
  attempt: number;
  /** Pause until the next attempt if this one fails; null: there is none. */
  nextPauseMs: number | null;
}

/** `forgotten`: the job, or its webhook URL, is no longer kept. */
export type AttemptResult =
  | { outcome: 'delivered' | 'gone' | 'forgotten' }
  | { outcome: 'failed'; error: WebhookError; status: number | null };

export interface WebhookActivities {
  deliverWebhook(attempt: WebhookAttempt): Promise<AttemptResult>;
}

/** State of a top-up in its row after a step. */
export interface TopUpProgress extends TopUpResult {
  /** Number of submissions. */
  settlements: number;
}

/** Final result of the chain for a top-up. `gone`: it is not there and can never come. */
export type TopUpVerdict =
  | { found: 'final'; units: string; transaction: string }
  | { found: 'wrong'; transaction: string; reason: string }
  | { found: 'gone' }
  /**
   * The transaction of the `settlement`th submission is lost, or waits with too low a fee (`replaces` names it): it is
   * submitted again.
   */
  | { found: 'dropped'; settlement: number; replaces?: string };

/** Result of one poll: a verdict if one is certain, and the state of the top-up. */
export interface TopUpExamination {
  verdict?: TopUpVerdict;
  stand: TopUpProgress;
  /** Pause until the next poll. */
  pauseMs: number;
}

export interface TopUpActivities {
  recordTopUp(input: TopUpInput): Promise<TopUpProgress>;
  /** Submits it for the `settlement`th time, at most once however often the step is repeated. */
  settleTopUp(input: { paymentId: string; settlement: number }): Promise<TopUpProgress>;
  /** Polls the chain; throws the retryable `StillSettling` until there is a verdict. */
  watchTopUp(input: { paymentId: string }): Promise<TopUpVerdict>;
  /** Polls the chain for the `looks`th time for a refused payment. */
  examineTopUp(input: { paymentId: string; looks: number }): Promise<TopUpExamination>;
  concludeTopUp(input: { paymentId: string; verdict: TopUpVerdict }): Promise<TopUpProgress>;
}

export interface UpkeepActivities {
  performDuty(input: { duty: UpkeepDuty } & UpkeepOptions): Promise<{ done: number }>;
}
