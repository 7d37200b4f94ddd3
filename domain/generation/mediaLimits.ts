/** Upper limits of each medium of a video order, unless its model has lower ones. */
import type { AudioFormat } from '../catalogue/model.ts';
import type { MediaRole } from './media.ts';

interface ImageLimits {
  kind: 'image';
  maxBytes: number;
  /** Width times height. */
  minPixels: number;
  maxPixels: number;
}

export interface AudioLimits {
  kind: 'audio';
  maxBytes: number;
  maxSeconds: number;
  accepted: readonly AudioFormat[];
}

interface VideoLimits {
  kind: 'video';
  maxBytes: number;
  minSeconds?: number;
  maxSeconds: number;
  /** Limit of one picture. */
  maxPixels: number;
}

export interface DocumentLimits {
  kind: 'document';
  maxBytes: number;
}

export type MediaLimits = ImageLimits | AudioLimits | VideoLimits | DocumentLimits;

const MB = 1024 * 1024;

/** Limits of pictures elsewhere: 25 MB, and the pixels of an edit (IMAGE-2, VIDEO-3). */
const IMAGE: ImageLimits = { kind: 'image', maxBytes: 25 * MB, minPixels: 65_536, maxPixels: 33_177_600 };
/** Limits of `audio_url` (VIDEO-3). */
const AUDIO: AudioLimits = { kind: 'audio', maxBytes: 15 * MB, maxSeconds: 30, accepted: ['wav', 'mp3'] };
/** Cinema 4K; a source above the output of models only costs time. */
const MAX_VIDEO_PIXELS = 4_096 * 2_304;
/** Limits of the source of a video-to-video or upscale model (VIDEO-3). The bytes allow 13 Mbit/s. */
const SOURCE_VIDEO: VideoLimits = {
  kind: 'video',
  maxBytes: 500 * MB,
  maxSeconds: 300,
  maxPixels: MAX_VIDEO_PIXELS,
};
/** Limits of one reference video (VIDEO-3). The model limits the total of an order. */
const REFERENCE_VIDEO: VideoLimits = {
  kind: 'video',
  maxBytes: 50 * MB,
  minSeconds: 2,
  maxSeconds: 15,
  maxPixels: MAX_VIDEO_PIXELS,
};
/** Size of other uploads (API-3), which the document reader also accepts. No size of a document is published. */
const DOCUMENT: DocumentLimits = { kind: 'document', maxBytes: 25 * MB };

const LIMITS: Record<MediaRole, MediaLimits> = {
  image: IMAGE,
  end_image: IMAGE,
  audio: AUDIO,
  video: SOURCE_VIDEO,
  reference_image: IMAGE,
  reference_video: REFERENCE_VIDEO,
  // The model limits their total length (VIDEO-3).
  reference_audio: AUDIO,
  reference_document: DOCUMENT,
  scene_image: IMAGE,
  element_frontal_image: IMAGE,
  element_reference_image: IMAGE,
  element_video: REFERENCE_VIDEO,
  keyframe: IMAGE,
};

export function limitsOfRole(role: MediaRole): MediaLimits {
  return LIMITS[role];
}
