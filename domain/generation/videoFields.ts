/** Fields of POST /video/queue except the model, with checked shape (VIDEO-1). */
import type { MediaPlace } from './media.ts';
import type { CameraPoint, OmniReferenceTask, UpscaleOrder } from './videoOrder.ts';

type Maybe<T> = { [Key in keyof T]?: T[Key] | undefined };

interface VideoElement {
  frontal_image_url?: string | undefined;
  reference_image_urls?: readonly string[] | undefined;
  video_url?: string | undefined;
}

export type VideoFields = Maybe<{
  prompt: string;
  negative_prompt: string;
  duration: string;
  aspect_ratio: string;
  resolution: string;
  audio: boolean;
  bitrate_mode: 'standard' | 'high';
  omni_reference_task_type: OmniReferenceTask;
  camera_trajectory: readonly CameraPoint[];
  keyframes: readonly { image_url: string; frame_index: number }[];
  consents: { seedance?: object | undefined };
  image_url: string;
  end_image_url: string;
  audio_url: string;
  video_url: string;
  reference_image_urls: readonly string[];
  reference_video_urls: readonly string[];
  reference_audio_urls: readonly string[];
  reference_document_urls: readonly string[];
  scene_image_urls: readonly string[];
  elements: readonly VideoElement[];
}> &
  UpscaleFields;

export type UpscaleFields = Maybe<{
  upscale_factor: 1 | 2 | 4;
  enhancement_model: string;
  target_fps: number;
  slowdown_factor: NonNullable<UpscaleOrder['slowdownFactor']>;
  compression: number;
  creativity: number;
  halo: number;
  noise: number;
  realism: number;
  recover_detail: number;
  sharp: number;
  grain: number;
  softness: number;
  h264_output: boolean;
  output_format: 'mp4' | 'prores';
}>;

/** Medium given by a URL or a data URL. */
export interface NamedMedium extends MediaPlace {
  url: string;
}

/** All media of the fields, in the order of the fields (VIDEO-9). */
export function mediaOf(fields: VideoFields): NamedMedium[] {
  const one = (role: MediaPlace['role'], url: string | undefined): NamedMedium[] =>
    url === undefined ? [] : [{ role, index: 0, url }];
  const many = (role: MediaPlace['role'], urls: readonly string[] | undefined): NamedMedium[] =>
    (urls ?? []).map((url, index) => ({ role, index, url }));
  return [
    ...one('image', fields.image_url),
    ...one('end_image', fields.end_image_url),
    ...one('audio', fields.audio_url),
    ...one('video', fields.video_url),
    ...many('reference_image', fields.reference_image_urls),
    ...many('reference_video', fields.reference_video_urls),
    ...many('reference_audio', fields.reference_audio_urls),
    ...many('reference_document', fields.reference_document_urls),
    ...many('scene_image', fields.scene_image_urls),
    ...(fields.elements ?? []).flatMap((element, index) => mediaOfElement(element, index)),
    ...(fields.keyframes ?? []).map(({ image_url: url }, index): NamedMedium => ({ role: 'keyframe', index, url })),
  ];
}

function mediaOfElement(fields: VideoElement, element: number): NamedMedium[] {
  const { frontal_image_url: frontal, reference_image_urls: references = [], video_url: video } = fields;
  return [
    ...(frontal === undefined ? [] : [{ role: 'element_frontal_image', index: 0, element, url: frontal } as const]),
    ...references.map((url, index) => ({ role: 'element_reference_image', index, element, url }) as const),
    ...(video === undefined ? [] : [{ role: 'element_video', index: 0, element, url: video } as const]),
  ];
}
