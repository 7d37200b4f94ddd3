/**
 * Interface of queued media providers. An adapter is stateless: it takes a request, calls its service and returns an
 * outcome. A lost reply is `unknown`, never a guess: the caller decides what to ask next.
 */

import type { AudioOrder } from '../../domain/generation/audioOrder.ts';
import type { MeasuredMedium } from '../../domain/generation/media.ts';
import type { VideoOrder } from '../../domain/generation/videoOrder.ts';
import type { UpstreamFailureReason } from '../../domain/upstreamFailure.ts';

/** A voice changer order. The source is the very file that was measured. */
export interface VoiceChangeRequest {
  kind: 'voice-changer';
  /** The queue_id. Adapters pass it on if the service can be asked by it later. */
  reference: string;
  upstreamModel: string;
  sourcePath: string;
  sourceContentType: string;
  /** ffmpeg's name of the demuxer that measured the source ("mp3", "wav", "mov", …). */
  sourceDemuxer: string;
  sourceSeconds: number;
  voice: string;
  removeBackgroundNoise: boolean;
  seed?: number;
}

/** Speech, music and sounds from text. */
export interface AudioRequest extends AudioOrder {
  reference: string;
  upstreamModel: string;
}

/** Videos from text and media, and the upscaling of a video. */
export interface VideoRequest extends VideoOrder {
  reference: string;
  upstreamModel: string;
  /** In the order of the request; read-only files. */
  media: readonly MediaFile[];
}

/** A medium of the order as a file in the `workFolder`. */
export interface MediaFile extends MeasuredMedium {
  path: string;
}

export type GenerationRequest = VoiceChangeRequest | AudioRequest | VideoRequest;

/** The output, a file below the caller's `workFolder`, which the caller deletes. */
export interface GenerationOutput {
  path: string;
  contentType: string;
  /** The provider's request ids, for the log and the timeline; never content. */
  providerReference?: string;
}

/** A provider's handle of a running generation: plain JSON for use in workflows. */
export type OperationHandle = { [key: string]: string | number | boolean };

export type Outcome =
  | { status: 'done'; output: GenerationOutput }
  | { status: 'running'; operation: OperationHandle; retryAfterMs?: number; percent?: number | undefined }
  /** `message` may be shown to the client if the order is at fault; `detail` is for the log only. */
  | { status: 'refused'; reason: RefusalReason; message: string; suggestedPrompt?: string; detail?: string }
  /** Certainly not accepted, because the service has no capacity now: retry after a pause. */
  | {
      status: 'busy';
      reason: 'concurrency' | Extract<UpstreamFailureReason, 'overloaded' | 'rate_limited'>;
      retryAfterMs?: number | undefined;
      /** For the log: the limits that the service reported. */
      detail?: string;
    }
  /** The request may have been accepted: never retry blindly. */
  | { status: 'unknown'; detail: string };

export type FailedOutcome = Extract<Outcome, { status: 'refused' | 'busy' | 'unknown' }>;

/** `failed` includes replies that cannot be an output. */
export type RefusalReason = Extract<UpstreamFailureReason, 'refused' | 'content_policy' | 'failed' | 'credential'>;

export interface CallContext {
  /** A private folder for this call; the caller deletes it. */
  workFolder: string;
  /** Aborted at the deadline, on cancellation and at shutdown. */
  signal: AbortSignal;
  /** Called during work, so that a dead worker is noticed quickly. */
  heartbeat: () => void;
  /** URL where the service may report the end of the order; absent if Farebox cannot be reached. */
  callbackUrl?: string;
}

/** An unverified call that claims to come from the service, exactly as it arrived. */
export interface Callback {
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

export interface GenerationProvider {
  /**
   * True if an order may be submitted twice without harm (no foreign service, no cost). Then a lost reply is retried
   * instead of being `unknown`.
   */
  readonly repeatable: boolean;
  start(request: GenerationRequest, context: CallContext): Promise<Outcome>;
  /** Polls a running generation. Absent if `start` always returns the result. */
  check?(operation: OperationHandle, context: CallContext): Promise<Outcome>;
  /** Looks up an order by its reference after a lost reply; `undefined`: the service never accepted it. */
  find?(reference: string, context: CallContext): Promise<Outcome | undefined>;
  /** Cancels at the service, best effort. True only if the service confirms that it stopped and nothing is charged. */
  cancel?(operation: OperationHandle, context: CallContext): Promise<boolean>;
  /**
   * Verifies the signature of a call to `callbackUrl`. A genuine call only wakes the job, which then polls the service,
   * so its content is never trusted. False for a forged, stale or repeated call.
   */
  isGenuine?(call: Callback, signal: AbortSignal): Promise<boolean>;
}
