/**
 * Contract of the API, the workers and the workflows: names, ids, inputs, results. Plain JSON only: money is in decimal
 * strings of nano units, and media bytes are never in it.
 */
import type { ErrorCode } from '../domain/errors.ts';
import type { AudioUsage } from '../domain/generation/audioOffer.ts';
import type { VideoUsage } from '../domain/generation/priceVideo.ts';
import type { JobState } from '../domain/jobs.ts';
import type { NanoString } from '../domain/money.ts';
import type { SignedPayment } from '../domain/payments/signedPayment.ts';
import type { TopUpState } from '../domain/payments/topUp.ts';
import type { TaskQueue } from '../domain/queues.ts';
import type { DeliveryState, WebhookEvent } from '../domain/webhooks.ts';

export const GENERATION_WORKFLOW = 'generation';

/** The workflow id is the queue_id itself, so an operator can paste one into the other's search box. */
export function generationWorkflowId(queueId: string): string {
  return queueId;
}

/** Search attributes, registered by `farebox migrate`; all keywords but the cost. */
export const SEARCH_ATTRIBUTES = {
  account: 'FareboxAccount',
  model: 'FareboxModel',
  kind: 'FareboxKind',
  state: 'FareboxState',
  provider: 'FareboxProvider',
  costUsd: 'FareboxCostUsd',
} as const;

/** Source of a job: an uploaded object, or a URL that is encrypted in an object. */
export type JobSource =
  | { from: 'upload'; sizeBytes: number; sha256: string }
  /** The URL is in the sealed order object: a user's URL never enters a history. */
  | { from: 'url' };

/** Input of every generation. Durations are inputs, so that tests can pass short ones. */
interface AnyGeneration {
  queueId: string;
  accountId: string;
  /** Null for callers without an API key (wallets). */
  keyId: string | null;
  requestId: string;
  modelId: string;
  provider: string;
  /** Queue of the provider's step: a local engine uses cores, a remote service is waited for. */
  providerQueue: 'media' | 'providers';
  /** Unix ms by the caller's clock, after which no client waits for the answer, so nothing is charged. */
  acceptBy: number;
  timing: GenerationTiming;
  /** Events that the client wants; the URL is in the database: it never enters a history. */
  webhook?: { events: readonly WebhookEvent[] };
}

export interface VoiceChange extends AnyGeneration {
  kind: 'voice-changer';
  source: JobSource;
  voice: string;
  removeBackgroundNoise: boolean;
  seed?: number;
}

/** The order itself is encrypted in storage; this has only what determines the price. */
export interface AudioGeneration extends AnyGeneration {
  kind: 'audio';
  usage: AudioUsage;
}

export interface VideoGeneration extends AnyGeneration {
  kind: 'video';
  usage: VideoUsage;
  /** Number of media of the order; their addresses are in the sealed order. */
  mediaCount: number;
  /** Version of the consent given with this order. */
  consentVersion?: string;
}

export type GenerationInput = VoiceChange | AudioGeneration | VideoGeneration;

/** Objects of the client, for the steps that remove them. */
export function clientInputsOf(input: GenerationInput): { queueId: string; mediaCount?: number } {
  const { queueId } = input;
  if (input.kind === 'voice-changer') return { queueId };
  return { queueId, mediaCount: input.kind === 'video' ? input.mediaCount : 0 };
}

export interface GenerationTiming {
  /** Time for which a started workflow waits for its update before it ends without a charge. */
  acceptMs: number;
  /** Time from acceptance to the stored output; after it the job is `timed_out` and refunded. */
  deadlineMs: number;
  /** The client's limit (`Cancel-After`): after it the job is cancelled and refunded, within the budget of the day. */
  cancelAfterMs?: number;
  /** Time from the stored output to its deletion when the client does not complete the job. */
  retentionMs: number;
  /** First and longest pause between two polls of the provider. */
  pollFirstMs: number;
  pollLongestMs: number;
  /** A step without a heartbeat for this long counts as dead and is given to another worker. */
  heartbeatMs: number;
}

/** Update `accepted`: resolves when the job is charged, or with the exact refusal and nothing charged. */
export const ACCEPTED_UPDATE = 'accepted';
export type AcceptResult =
  | { accepted: true; durationSeconds?: number; chargeId: string; priceUsd: NanoString }
  | { accepted: false; code: ErrorCode; message: string; fields?: Record<string, string[]> };

/**
 * Update `cancel`: `cancelled` once the refund is committed, `too_late` when the output is already stored, `over_budget` when
 * the provider cannot be stopped and the account was refunded enough today: the job goes on.
 */
export const CANCEL_UPDATE = 'cancel';
export type CancelResult = { outcome: 'cancelled' | 'too_late' | 'already_ended' | 'over_budget' };

/** Update `complete`: `deleted` when the object is gone (or will never come), `pending` when deletion is still retried. */
export const COMPLETE_UPDATE = 'complete';
/** State that the client had seen: stored media is waited for, media that may still come is only discarded. */
export interface CompleteRequest {
  stored: boolean;
}
export type CompleteResult = { outcome: 'deleted' | 'pending' };

/** Result of a generation, which operators read as the workflow's result. */
export interface GenerationResult {
  state: JobState | 'refused';
  durationSeconds?: number;
  priceUsd?: string;
  chargeId?: string;
  refundId?: string;
  failure?: { code: ErrorCode; message: string };
}

/** Signal: the provider reports the end. It only ends a pause: the result is read from the provider. */
export const CALLED_BACK_SIGNAL = 'calledBack';

/** Delivers one event to the client, however long it takes. */
export const WEBHOOK_WORKFLOW = 'webhook';

export interface WebhookInput {
  queueId: string;
  accountId: string;
  event: WebhookEvent;
  /** Between the attempts: one more attempt than pauses. */
  pausesMs: readonly number[];
}

export interface WebhookResult {
  state: Exclude<DeliveryState, 'pending'> | 'forgotten';
  attempts: number;
}

export function webhookWorkflowId(queueId: string, event: WebhookEvent): string {
  return `webhook:${queueId}:${event}`;
}

/** What everybody who starts one says of it. */
export function webhookOptions(told: WebhookInput) {
  const { queueId, accountId, event } = told;
  const taskQueue: TaskQueue = 'jobs';
  return {
    workflowId: webhookWorkflowId(queueId, event),
    taskQueue,
    args: [told] as [WebhookInput],
    priority: { fairnessKey: accountId },
    staticSummary: `${event} · job ${queueId}`,
    searchAttributes: { [SEARCH_ATTRIBUTES.account]: [accountId] },
  };
}

/** Signal: the client wants it now, without the rest of the pause. */
export const RESEND_SIGNAL = 'resend';

export type WebhookWorkflow = (input: WebhookInput) => Promise<WebhookResult>;

/** Top-up by a payment: recorded, submitted, found on the chain, credited. */
export const TOP_UP_WORKFLOW = 'topUp';

export interface TopUpInput {
  /** Id derived from the payment: one run at a time; its row has the result of earlier ones. */
  paymentId: string;
  /** Family of the payer's wallet. */
  accountId: string;
  requestId: string;
  payment: SignedPayment;
  /** Decimals of the token. */
  decimals: number;
}

export interface TopUpResult {
  state: TopUpState;
  /** Nano units. */
  creditedUsd?: NanoString;
  transaction?: string;
  reason?: string;
}

/**
 * Signal: the payer presents a refused payment again. `settlements`: how often it had been handed in when its payer was told
 * that it was refused, so that one wish is one more time.
 */
export const PRESENTED_SIGNAL = 'presented';
export interface PresentedPayment {
  settlements: number;
}

/** Options of every start. Its row has all earlier results, so it may be started again when it is gone. */
export function topUpOptions(input: TopUpInput) {
  const { paymentId, accountId, payment } = input;
  const taskQueue: TaskQueue = 'jobs';
  return {
    workflowId: paymentId,
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    workflowIdConflictPolicy: 'USE_EXISTING',
    taskQueue,
    args: [input] as [TopUpInput],
    priority: { fairnessKey: accountId },
    staticSummary: `top-up · ${payment.network} · wallet ${payment.payer.address}`,
    searchAttributes: {
      [SEARCH_ATTRIBUTES.account]: [accountId],
      [SEARCH_ATTRIBUTES.kind]: ['top-up'],
      [SEARCH_ATTRIBUTES.provider]: [payment.network],
      [SEARCH_ATTRIBUTES.state]: ['recorded'],
    },
  } as const;
}

export type TopUpWorkflow = (input: TopUpInput) => Promise<TopUpResult>;

export const UPKEEP_WORKFLOW = 'upkeep';

/** Maintenance tasks; each is a Temporal Schedule of its own. */
export const UPKEEP_DUTIES = [
  'expireHolds',
  'sweepObjects',
  'reconcileJobs',
  'purgeIdempotencyKeys',
  'purgeSignInNonces',
  'tellUntold',
  'purgeWebhooks',
  'reconcileTopUps',
  'preparePartitions',
] as const;
export type UpkeepDuty = (typeof UPKEEP_DUTIES)[number];

/** Options for an operator who runs a task by hand; the schedules have none. */
export interface UpkeepOptions {
  /** `sweepObjects`: minimum age of an object without a job; an hour by default. */
  orphanGraceMs?: number;
  /** `reconcileTopUps`: minimum time since the last change of a payment; a minute by default. */
  topUpGraceMs?: number;
}

export type UpkeepWorkflow = (duty: UpkeepDuty, options?: UpkeepOptions) => Promise<{ done: number }>;

/** The workflow's type, for typed starts without importing its code. */
export type GenerationWorkflow = (input: GenerationInput) => Promise<GenerationResult>;
