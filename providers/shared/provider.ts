/**
 * What every provider of queued media speaks. An adapter is stateless: it gets a source file and our words, calls its
 * service, and answers with an outcome. A lost reply is `unknown`, never a guess: the caller decides what to ask next.
 */

import type { AudioOrder } from '../../domain/generation/audioOrder.ts';
import type { MeasuredMedium } from '../../domain/generation/media.ts';
import type { VideoOrder } from '../../domain/generation/videoOrder.ts';
import type { UpstreamFailureReason } from '../../domain/upstreamFailure.ts';

/** A voice-changer order in our words. The source is the very file that was measured. */
export interface VoiceChangeRequest {
  kind: 'voice-changer';
  /** Our reference, the queue_id: adapters pass it on where the service can be asked by it later. */
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

/** Speech, music and sounds from words. */
export interface AudioRequest extends AudioOrder {
  /** As for a voice change. */
  reference: string;
  upstreamModel: string;
}

/** Moving pictures from words and media, and the enlargement of a video. */
export interface VideoRequest extends VideoOrder {
  /** As for a voice change. */
  reference: string;
  upstreamModel: string;
  /** In the order of the request; the files may be read, not changed. */
  media: readonly MediaFile[];
}

/** A medium of the order as a file in the `workFolder`. */
export interface MediaFile extends MeasuredMedium {
  path: string;
}

export type GenerationRequest = VoiceChangeRequest | AudioRequest | VideoRequest;

/** Where the output was put: a file below the `workFolder` that the caller gave; the caller deletes the folder. */
export interface GenerationOutput {
  path: string;
  contentType: string;
  /** What the provider told about itself, for the log and the timeline: request ids, never content. */
  providerReference?: string;
}

/** A provider's handle of a running generation: plain JSON, so that a workflow can carry it. */
export type OperationHandle = { [key: string]: string | number | boolean };

export type Outcome =
  | { status: 'done'; output: GenerationOutput }
  | { status: 'running'; operation: OperationHandle; retryAfterMs?: number; percent?: number | undefined }
  /** `message` may be shown to the client where the order is at fault; `detail` is for the log only. */
  | { status: 'refused'; reason: RefusalReason; message: string; suggestedPrompt?: string; detail?: string }
  /** Known not to have been accepted because the service has no room now: try again after a pause. */
  | {
      status: 'busy';
      reason: 'concurrency' | Extract<UpstreamFailureReason, 'overloaded' | 'rate_limited'>;
      retryAfterMs?: number | undefined;
      /** For the log: what the service told about its limits. */
      detail?: string;
    }
  /** The request may have been accepted: never to be repeated blindly. */
  | { status: 'unknown'; detail: string };

export type FailedOutcome = Extract<Outcome, { status: 'refused' | 'busy' | 'unknown' }>;

/** `failed`: also of an answer that cannot be an output. */
export type RefusalReason = Extract<UpstreamFailureReason, 'refused' | 'content_policy' | 'failed' | 'credential'>;

export interface CallContext {
  /** A private folder for this call; deleted by the caller afterwards. */
  workFolder: string;
  /** Aborted at the deadline, on cancellation and at shutdown. */
  signal: AbortSignal;
  /** Called while work goes on, so that a dead worker is noticed quickly. */
  heartbeat: () => void;
  /** Where the service may tell the end of the order, for those that call back; absent where we cannot be reached. */
  callbackUrl?: string;
}

/** A call that says it comes from the service; exactly what arrived. */
export interface Callback {
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

export interface GenerationProvider {
  /**
   * True when the same order may be handed in twice without harm (no foreign service, no cost): then a lost reply is
   * answered by doing it again instead of by `unknown`.
   */
  readonly repeatable: boolean;
  start(request: GenerationRequest, context: CallContext): Promise<Outcome>;
  /** Asks for a running generation. Absent where `start` always answers with the result. */
  check?(operation: OperationHandle, context: CallContext): Promise<Outcome>;
  /** Asks by our own reference after a lost reply; `undefined` answer: the service never accepted it. */
  find?(reference: string, context: CallContext): Promise<Outcome | undefined>;
  /** Tells the service to stop; best effort. True only where the service says that it stopped and did nothing to be paid for. */
  cancel?(operation: OperationHandle, context: CallContext): Promise<boolean>;
  /**
   * Whether a call to the `callbackUrl` of an order is the service's own, by its signature. A genuine call only wakes the
   * job, which then asks the service itself, so its content is never believed. False for a forged, stale or repeated one.
   */
  isGenuine?(call: Callback, signal: AbortSignal): Promise<boolean>;
}
