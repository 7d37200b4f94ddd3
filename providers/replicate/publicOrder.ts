/**
 * Order under the field names of the published API (AUDIO-1, VIDEO-1), for a model that has no row of its own in
 * modelInputs.ts. Lengths are whole seconds; media stand as the files themselves until they have an address.
 */
import type { MediaRole } from '../../domain/generation/media.ts';
import type { UpscaleOrder } from '../../domain/generation/videoOrder.ts';
import { audioFields } from '../shared/audioFields.ts';
import type { AudioRequest, MediaFile, VideoRequest } from '../shared/provider.ts';

export type PublicOrder = Readonly<Record<string, unknown>>;

export function publicOrder(request: AudioRequest | VideoRequest): PublicOrder {
  return withoutAbsent(request.kind === 'audio' ? audioFields(request) : videoFields(request));
}

function videoFields(order: VideoRequest): Record<string, unknown> {
  return {
    prompt: order.prompt,
    negative_prompt: order.negativePrompt,
    duration: order.durationSeconds,
    aspect_ratio: order.aspectRatio,
    resolution: order.resolution,
    audio: order.audio,
    camera_trajectory: order.cameraTrajectory,
    omni_reference_task_type: order.omniReferenceTask,
    bitrate_mode: order.bitrateMode,
    ...(order.upscale && upscaleFields(order.upscale)),
    ...mediaFields(order.media),
    elements: elementsOf(order.media),
    keyframes: keyframesOf(order),
  };
}

function upscaleFields(upscale: UpscaleOrder): Record<string, unknown> {
  return {
    upscale_factor: upscale.factor,
    enhancement_model: upscale.enhancementModel,
    target_fps: upscale.targetFps,
    slowdown_factor: upscale.slowdownFactor,
    compression: upscale.compression,
    creativity: upscale.creativity,
    halo: upscale.halo,
    noise: upscale.noise,
    realism: upscale.realism,
    recover_detail: upscale.recoverDetail,
    sharp: upscale.sharp,
    grain: upscale.grain,
    softness: upscale.softness,
    h264_output: upscale.h264Output,
    output_format: upscale.outputFormat,
  };
}

type PlainRole = Exclude<
  MediaRole,
  'element_frontal_image' | 'element_reference_image' | 'element_video' | 'keyframe'
>;

const FIELDS: Record<PlainRole, { name: string; many: boolean }> = {
  image: { name: 'image_url', many: false },
  end_image: { name: 'end_image_url', many: false },
  audio: { name: 'audio_url', many: false },
  video: { name: 'video_url', many: false },
  reference_image: { name: 'reference_image_urls', many: true },
  reference_video: { name: 'reference_video_urls', many: true },
  reference_audio: { name: 'reference_audio_urls', many: true },
  reference_document: { name: 'reference_document_urls', many: true },
  scene_image: { name: 'scene_image_urls', many: true },
};

function mediaFields(media: readonly MediaFile[]): Record<string, unknown> {
  const fields = (Object.keys(FIELDS) as PlainRole[]).map((role) => {
    const { name, many } = FIELDS[role];
    const files = ofRole(media, role);
    return [name, many ? absentIfEmpty(files) : files[0]];
  });
  return Object.fromEntries(fields);
}

function elementsOf(media: readonly MediaFile[]): unknown {
  const numbers = [...new Set(media.flatMap(({ element }) => (element === undefined ? [] : [element])))];
  const elements = numbers
    .sort((a, b) => a - b)
    .map((number) => {
      const own = media.filter(({ element }) => element === number);
      return withoutAbsent({
        frontal_image_url: ofRole(own, 'element_frontal_image')[0],
        reference_image_urls: absentIfEmpty(ofRole(own, 'element_reference_image')),
        video_url: ofRole(own, 'element_video')[0],
      });
    });
  return absentIfEmpty(elements);
}

function keyframesOf({ media, keyframes = [] }: VideoRequest): unknown {
  const images = ofRole(media, 'keyframe');
  const frames = keyframes.map(({ frameIndex }, index) => {
    return { image_url: images.find((image) => image.index === index), frame_index: frameIndex };
  });
  return absentIfEmpty(frames);
}

function ofRole(media: readonly MediaFile[], role: MediaRole): MediaFile[] {
  return media.filter((medium) => medium.role === role).sort((a, b) => a.index - b.index);
}

function absentIfEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

function withoutAbsent(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
