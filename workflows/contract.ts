/**
 * What the API, the workers and the workflows agree on: names, ids, inputs, results. Plain JSON only: money travels as
 * decimal strings of nano units, bytes never travel.
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

/** Where the source of a job comes from: an object that the API uploaded, or a URL kept sealed in an object. */
export type JobSource =
  | { from: 'upload'; sizeBytes: number; sha256: string }
  /** The URL lies in the sealed order object: a user's URL never enters a history. */
  | { from: 'url' };

/** What every generation is ordered with. Durations are inputs, so that a test can pass short ones. */
interface AnyGeneration {
  queueId: string;
  accountId: string;
  /** Null for callers without an API key (wallets). */
  keyId: string | null;
  requestId: string;
  modelId: string;
  provider: string;
  /** Where the provider's step runs: an engine of our own burns cores, a foreign service is waited for. */
  providerQueue: 'media' | 'providers';
  /** Unix ms by the caller's clock: past it nobody waits for the answer any more, so nothing is charged. */
  acceptBy: number;
  timing: GenerationTiming;
  /** What the client wants to be told; where to tell it is in the database: a user's URL never enters a history. */
  webhook?: { events: readonly WebhookEvent[] };
}

export interface VoiceChange extends AnyGeneration {
  kind: 'voice-changer';
  source: JobSource;
  voice: string;
  removeBackgroundNoise: boolean;
  seed?: number;
}

/** What was ordered lies sealed in storage; here is only what decides about the price. */
export interface AudioGeneration extends AnyGeneration {
  kind: 'audio';
  usage: AudioUsage;
}

export interface VideoGeneration extends AnyGeneration {
  kind: 'video';
  usage: VideoUsage;
  /** How many media the client handed in; their addresses are in the sealed order. */
  mediaCount: number;
  /** The terms that a person agreed to with this order. */
  consentVersion?: string;
}

export type GenerationInput = VoiceChange | AudioGeneration | VideoGeneration;

/** What the client handed in, for the steps that remove it. */
export function clientInputsOf(input: GenerationInput): { queueId: string; mediaCount?: number } {
  const { queueId } = input;
  if (input.kind === 'voice-changer') return { queueId };
  return { queueId, mediaCount: input.kind === 'video' ? input.mediaCount : 0 };
}

export interface GenerationTiming {
  /** How long a started workflow waits for the question that comes with it, before it gives up uncharged. */
  acceptMs: number;
  /** From acceptance to the stored output; past it the job is `timed_out` and refunded. */
  deadlineMs: number;
  /** The client's own limit (`Cancel-After`): past it the job is cancelled and refunded, within the budget of the day. */
  cancelAfterMs?: number;
  /** From the stored output to its deletion when nobody completes the job. */
  retentionMs: number;
  /** First and longest pause between two questions to the provider. */
  pollFirstMs: number;
  pollLongestMs: number;
  /** A step that is silent for this long is taken for dead and given to another worker. */
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
/** What the client had seen: media that is stored already is waited for, media that may still come is only discarded. */
export interface CompleteRequest {
  stored: boolean;
}
export type CompleteResult = { outcome: 'deleted' | 'pending' };

/** What a generation ends with, and what an operator reads as the workflow's result. */
export interface GenerationResult {
  state: JobState | 'refused';
  durationSeconds?: number;
  priceUsd?: string;
  chargeId?: string;
  refundId?: string;
  failure?: { code: ErrorCode; message: string };
}

/** Signal: the provider says that it is done. It only ends a pause: what came of the order the provider is asked itself. */
export const CALLED_BACK_SIGNAL = 'calledBack';

/** Tells the client of one event, for as long as it takes. */
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

/** Signal: the client wants it now, whatever the pause has left. */
export const RESEND_SIGNAL = 'resend';

export type WebhookWorkflow = (input: WebhookInput) => Promise<WebhookResult>;

/** A payment's way from its header into the books: recorded, handed in, found on the chain, credited. */
export const TOP_UP_WORKFLOW = 'topUp';

export interface TopUpInput {
  /** Follows from the payment: one run at a time, and what an earlier one did is in its row. */
  paymentId: string;
  /** Of the payer's wallet. */
  accountId: string;
  requestId: string;
  payment: SignedPayment;
  /** Of the token. */
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

/** What everybody who starts one says of it. What happened already is in the row, so it may be started again when it is gone. */
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

/** The regular duties; each is a Temporal Schedule of its own. */
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

/** What an operator who runs a duty by hand may ask for; the schedules ask for nothing. */
export interface UpkeepOptions {
  /** `sweepObjects`: how old an object without a job must be to go; an hour by default. */
  orphanGraceMs?: number;
  /** `reconcileTopUps`: for how long nothing must have happened at a payment; a minute by default. */
  topUpGraceMs?: number;
}

export type UpkeepWorkflow = (duty: UpkeepDuty, options?: UpkeepOptions) => Promise<{ done: number }>;

/** The workflow's type, for typed starts without importing its code. */
export type GenerationWorkflow = (input: GenerationInput) => Promise<GenerationResult>;
