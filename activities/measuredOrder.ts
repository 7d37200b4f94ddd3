/** An order with what was measured of it; which kind of the one goes with which kind of the other. */
import type {
  AudioGeneration,
  GenerationInput,
  VideoGeneration,
  VoiceChange,
} from '../workflows/contract.ts';
import type { Measured, MeasuredMedia, MeasuredSource } from './types.ts';

export type MeasuredOrder =
  | { job: VoiceChange; source: MeasuredSource }
  | { job: AudioGeneration; source: MeasuredMedia }
  | { job: VideoGeneration; source: MeasuredMedia };

/** Temporal hands both over as plain JSON. Throws where they do not belong together. */
export function measuredOrder({ job, source }: { job: GenerationInput; source: Measured }): MeasuredOrder {
  if (job.kind === 'voice-changer' && 'decodedSeconds' in source) return { job, source };
  if (job.kind === 'audio' && 'media' in source) return { job, source };
  if (job.kind === 'video' && 'media' in source) return { job, source };
  throw new Error(`job ${job.queueId} of kind ${job.kind} came with the measurements of another kind`);
}
