/**
 * Video order with all defaults (VIDEO-1), the same for quote and provider. Members that the model does not have are
 * absent; media are separate.
 */
export interface VideoOrder {
  kind: 'video';
  prompt?: string;
  negativePrompt?: string;
  /** Absent when the service (`auto`, `-1`) or a source video decides. */
  durationSeconds?: number;
  /** As in the request, e.g. `16:9` or `adaptive`. */
  aspectRatio?: string;
  /** As in the request, e.g. `720p`, `4k` or `768P`. */
  resolution?: string;
  /** Whether a sound track is ordered; absent when the model has no choice. */
  audio?: boolean;
  /** The i-th belongs to the medium of role `keyframe` with index i. */
  keyframes?: readonly { frameIndex: number }[];
  cameraTrajectory?: readonly CameraPoint[];
  omniReferenceTask?: OmniReferenceTask;
  bitrateMode?: 'standard' | 'high';
  upscale?: UpscaleOrder;
}

/** Position of the camera at a moment, relative to the subject. */
export interface CameraPoint {
  /** Share of the whole length, 0 to 1, strictly increasing. */
  time: number;
  /** Degrees around the subject; positive to the right. More than 360 is more than one turn. */
  azimuth: number;
  /** Degrees above the horizon, −90 to 90. */
  elevation: number;
  /** Distance above 0, relative to that of the picture. */
  distance: number;
}

/** Tasks with references (VIDEO-6). */
export const OMNI_REFERENCE_TASKS = ['auto', 'reference', 'edit', 'extend', 'stitch'] as const;
export type OmniReferenceTask = (typeof OMNI_REFERENCE_TASKS)[number];

/** Options of an upscaler; strengths are 0 to 1 unless stated otherwise. */
export interface UpscaleOrder {
  /** Factor of width and height; 1 only enhances. */
  factor: 1 | 2 | 4;
  enhancementModel?: string;
  /** 16 to 120; absent: the source's. */
  targetFps?: number;
  /** 1 is the source's speed; 2 takes twice as long. */
  slowdownFactor?: 1 | 2 | 4 | 8;
  compression?: number;
  creativity?: number;
  halo?: number;
  noise?: number;
  realism?: number;
  recoverDetail?: number;
  sharp?: number;
  /** 0 to 0.1. */
  grain?: number;
  /** 1 to 5. */
  softness?: number;
  /** H.264 instead of the service's own choice of codec. */
  h264Output?: boolean;
  outputFormat?: 'mp4' | 'prores';
}
