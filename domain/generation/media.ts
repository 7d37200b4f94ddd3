/** Media of an order: this service fetches each once, measures and stores it; a provider gets these bytes. */

/** Fields of a video order with media, in the singular (VIDEO-9). */
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

/** Position of a medium in its order. */
export interface MediaPlace {
  role: MediaRole;
  /** Index among the media of its role (and element), from 0. */
  index: number;
  /** For the roles of elements: index of the element, from 0. */
  element?: number;
}

export type MediaKind = 'image' | 'audio' | 'video' | 'document';

/** Result of decoding, never a claim of a header or a client. */
export interface MeasuredMedium extends MediaPlace {
  kind: MediaKind;
  sizeBytes: number;
  sha256: string;
  contentType: string;
  /** ffmpeg's name of the demuxer that measured it; absent for documents. */
  demuxer?: string;
  /** Pixels as shown, after rotation. Images and videos only. */
  width?: number;
  height?: number;
  /** Decoded length. Audio and videos only. */
  seconds?: number;
  /** Decoded frames. Videos only. */
  frames?: number;
  /** Frames per second, measured by decoding. Videos only. */
  framesPerSecond?: number;
  /** Videos only. */
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

const FIELDS: Record<MediaRole, (place: MediaPlace) => string> = {
  image: () => 'image_url',
  end_image: () => 'end_image_url',
  audio: () => 'audio_url',
  video: () => 'video_url',
  reference_image: ({ index }) => `reference_image_urls[${index}]`,
  reference_video: ({ index }) => `reference_video_urls[${index}]`,
  reference_audio: ({ index }) => `reference_audio_urls[${index}]`,
  reference_document: ({ index }) => `reference_document_urls[${index}]`,
  scene_image: ({ index }) => `scene_image_urls[${index}]`,
  element_frontal_image: ({ element }) => `elements[${element ?? 0}].frontal_image_url`,
  element_reference_image: ({ element, index }) => `elements[${element ?? 0}].reference_image_urls[${index}]`,
  element_video: ({ element }) => `elements[${element ?? 0}].video_url`,
  keyframe: ({ index }) => `keyframes[${index}].image_url`,
};

/** Name of the field of the medium in the public API, e.g. `keyframes[3].image_url`. */
export function fieldOf(place: MediaPlace): string {
  return FIELDS[place.role](place);
}
