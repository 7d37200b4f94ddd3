/** What clients hand in with an order: each medium is fetched by us once, measured and stored; a provider gets these bytes. */

/** Which field of the order a medium came in (specification 4.8), in the singular. */
export const MEDIA_ROLES = [
  'image',
  'end_image',
  'audio',
  'video',
  'reference_image',
  'reference_video',
  'reference_audio',
  'reference_document',
  'scene_image',
  'element_frontal_image',
  'element_reference_image',
  'element_video',
  'keyframe',
] as const;
export type MediaRole = (typeof MEDIA_ROLES)[number];

/** Where a medium stands in its order. */
export interface MediaPlace {
  role: MediaRole;
  /** Its place among those of its role (and element), from 0. */
  index: number;
  /** For the roles of elements: which element, from 0. */
  element?: number;
}

export type MediaKind = 'image' | 'audio' | 'video' | 'document';

/** What was found by decoding, never what a header or a client said. */
export interface MeasuredMedium extends MediaPlace {
  kind: MediaKind;
  sizeBytes: number;
  sha256: string;
  contentType: string;
  /** ffmpeg's name of the demuxer that measured it; absent for documents. */
  demuxer?: string;
  /** Pixels as shown, after rotation; of images and videos. */
  width?: number;
  height?: number;
  /** Decoded length; of audio and videos. */
  seconds?: number;
  /** Of videos: decoded frames per decoded second. */
  framesPerSecond?: number;
  /** Of videos. */
  hasAudio?: boolean;
}

const KINDS: Record<MediaRole, MediaKind> = {
  image: 'image',
  end_image: 'image',
  audio: 'audio',
  video: 'video',
  reference_image: 'image',
  reference_video: 'video',
  reference_audio: 'audio',
  reference_document: 'document',
  scene_image: 'image',
  element_frontal_image: 'image',
  element_reference_image: 'image',
  element_video: 'video',
  keyframe: 'image',
};

export function kindOfRole(role: MediaRole): MediaKind {
  return KINDS[role];
}
