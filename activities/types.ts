/** Inputs and results of the activities: plain JSON, small, without a byte of media or a word of the user's. */
import type { AudioFormat } from '../domain/catalogue/model.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { MeasuredMedium } from '../domain/generation/media.ts';
import type { JobState } from '../domain/jobs.ts';
import type { WebhookError, WebhookEvent } from '../domain/webhooks.ts';
import type {
  GenerationInput,
  TopUpInput,
  TopUpResult,
  UpkeepDuty,
  UpkeepOptions,
} from '../workflows/contract.ts';

export interface MeasuredSource {
  sizeBytes: number;
  sha256: string;
  format: AudioFormat;
  demuxer: string;
  contentType: string;
  /** Seconds of really decoded sound. */
  decodedSeconds: number;
  lossy: boolean;
  /** ISO 8601, by the worker's clock: for the timeline only. */
  measuredAt: string;
}

/** What came with an audio or video order: often nothing. */
export interface MeasuredMedia {
  media: MeasuredMedium[];
  /** As of a source; absent where there was nothing to measure. */
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

/** What a job was charged for, and how. */
export interface AcceptedTerms {
  durationSeconds?: number;
  chargeId: string;
  priceUsd: string;
  paid: string;
}

export type AcceptJobResult = ({ ok: true } & AcceptedTerms) | Refusal;

/** The provider's own handle of a running generation. */
export type OperationHandle = { [key: string]: string | number | boolean };

/** What the provider's step came to. Everything but `stored` leaves the job running or ends it. */
export type GenerateResult =
  | { kind: 'stored' }
  | { kind: 'running'; operation: OperationHandle }
  | { kind: 'busy'; retryAfterMs: number }
  | { kind: 'failed'; code: ErrorCode; message: string }
  /** The provider may have accepted. `askable`: it can be asked again by our reference. */
  | { kind: 'unknown'; askable: boolean }
  /** The job was ended by somebody else meanwhile; nothing was kept. */
  | { kind: 'ended' };

/** Whose source goes; how many media its order has. */
export interface SourceDiscard {
  queueId: string;
  mediaCount?: number;
}

export interface EndJobInput extends SourceDiscard {
  state: Extract<JobState, 'failed' | 'timed_out' | 'cancelled'>;
  failure: { code: ErrorCode; message: string };
  /** The client ends it: what its provider was paid for counts into the budget of refunds of the day. */
  isClients?: boolean;
  /** The order is withdrawn: only where no response said that it stands. */
  isWithdrawal?: boolean;
}

/** `state` is what the row says now: `stored` when the output came first and the job therefore stands. */
export interface EndJobResult {
  state: JobState;
  refundId?: string;
  /** It goes on: the budget of the day is spent and its provider does not stop, or its client was told that it stands. */
  refused?: 'refund_budget' | 'acceptance_sent';
}

export interface JobsActivities {
  acceptJob(input: { job: GenerationInput; source: Measurement }): Promise<AcceptJobResult>;
  discardSource(input: SourceDiscard): Promise<void>;
  endJob(input: EndJobInput): Promise<EndJobResult>;
  /**
   * Refunds and ends whatever an acceptance of unknown outcome may have left behind. A job whose client was told that it stands
   * is not ended: its terms are returned, and it goes on.
   */
  abandonJob(input: SourceDiscard & { accountId: string }): Promise<AcceptedTerms | undefined>;
  removeMedia(input: { queueId: string; as: 'deleted' | 'expired' }): Promise<void>;
}

export interface MediaActivities {
  measureSource(input: { job: GenerationInput }): Promise<MeasureResult>;
}

export interface ProviderActivities {
  generate(input: { job: GenerationInput; source: Measurement }): Promise<GenerateResult>;
  /** Asks for a running generation; throws the retryable `StillRunning` until there is an outcome. */
  awaitOutcome(input: { job: GenerationInput; operation: OperationHandle }): Promise<GenerateResult>;
}

export interface WebhookAttempt {
  queueId: string;
  event: WebhookEvent;
  /** Which attempt of this run it is, from 1. */
  attempt: number;
  /** Until the next one, should this one fail; null: there is none. */
  nextPauseMs: number | null;
}

/** `forgotten`: nothing is kept of the job any more, or of where to tell it. */
export type AttemptResult =
  | { outcome: 'delivered' | 'gone' | 'forgotten' }
  | { outcome: 'failed'; error: WebhookError; status: number | null };

export interface WebhookActivities {
  deliverWebhook(attempt: WebhookAttempt): Promise<AttemptResult>;
}

/** Where a top-up stands after a step: what its row says. */
export interface TopUpStand extends TopUpResult {
  /** How often it was handed in. */
  settlements: number;
}

/** What the chain says that ends a top-up. `gone`: it is not there and can never come. */
export type TopUpVerdict =
  | { found: 'final'; units: string; transaction: string }
  | { found: 'wrong'; transaction: string; reason: string }
  | { found: 'gone' }
  /**
   * The transaction by which we handed it in the `settlement`th time is forgotten, or waits with too low a fee (`replaces`
   * names it): it is handed in again.
   */
  | { found: 'dropped'; settlement: number; replaces?: string };

/** Result of one look: a verdict where one is certain, and where the top-up stands. */
export interface TopUpExamination {
  verdict?: TopUpVerdict;
  stand: TopUpStand;
  /** Until the next look. */
  pauseMs: number;
}

export interface TopUpActivities {
  recordTopUp(input: TopUpInput): Promise<TopUpStand>;
  /** Hands it in for the `settlement`th time, at most once however often the step is repeated. */
  settleTopUp(input: { paymentId: string; settlement: number }): Promise<TopUpStand>;
  /** Looks on the chain; throws the retryable `StillSettling` until there is a verdict. */
  watchTopUp(input: { paymentId: string }): Promise<TopUpVerdict>;
  /** Looks on the chain for the `looks`th time, at a payment that was refused. */
  examineTopUp(input: { paymentId: string; looks: number }): Promise<TopUpExamination>;
  concludeTopUp(input: { paymentId: string; verdict: TopUpVerdict }): Promise<TopUpStand>;
}

export interface UpkeepActivities {
  performDuty(input: { duty: UpkeepDuty } & UpkeepOptions): Promise<{ done: number }>;
}
