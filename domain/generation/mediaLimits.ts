/** What each medium of a video order may be at most, unless its model says less. */
import type { AudioFormat } from '../catalogue/model.ts';
import type { MediaRole } from './media.ts';

export interface ImageLimits {
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

export interface VideoLimits {
  kind: 'video';
  maxBytes: number;
  minSeconds?: number;
  maxSeconds: number;
  /** Of one picture. */
  maxPixels: number;
}

export interface DocumentLimits {
  kind: 'document';
  maxBytes: number;
}

export type MediaLimits = ImageLimits | AudioLimits | VideoLimits | DocumentLimits;

const MB = 1024 * 1024;

/** The sizes that the service states for pictures elsewhere: 25 MB (specification 8.5), pixels as for multi-edit (4.2). */
const IMAGE: ImageLimits = { kind: 'image', maxBytes: 25 * MB, minPixels: 65_536, maxPixels: 33_177_600 };
/** api-facts 4.8: `audio_url` is WAV or MP3, ≤ 30 s, ≤ 15 MB. */
const AUDIO: AudioLimits = { kind: 'audio', maxBytes: 15 * MB, maxSeconds: 30, accepted: ['wav', 'mp3'] };
/** Cinema's 4K; a source that is larger than what models make only costs time. */
const MAX_VIDEO_PIXELS = 4_096 * 2_304;
/** api-facts 4.8: sources of video-to-video and upscale models last at most 300 s. Their bytes: 13 Mbit/s for as long. */
const SOURCE_VIDEO: VideoLimits = {
  kind: 'video',
  maxBytes: 500 * MB,
  maxSeconds: 300,
  maxPixels: MAX_VIDEO_PIXELS,
};
/** The reference caps of the models in api-facts 11: 2 to 15 s and ≤ 50 MB each. Totals over an order are the model's. */
const REFERENCE_VIDEO: VideoLimits = {
  kind: 'video',
  maxBytes: 50 * MB,
  minSeconds: 2,
  maxSeconds: 15,
  maxPixels: MAX_VIDEO_PIXELS,
};
/** No document's size is stated: that of other uploads (specification 8.5), which is also what our reader takes. */
const DOCUMENT: DocumentLimits = { kind: 'document', maxBytes: 25 * MB };

const LIMITS: Record<MediaRole, MediaLimits> = {
  image: IMAGE,
  end_image: IMAGE,
  audio: AUDIO,
  video: SOURCE_VIDEO,
  reference_image: IMAGE,
  reference_video: REFERENCE_VIDEO,
  // api-facts 11: ≤ 15 MB each; how long they are together is the model's to say.
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
