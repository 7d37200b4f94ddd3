/** Writes the input of a model of fal from an order of ours. */
import type { VideoOrder } from '../../domain/generation/videoOrder.ts';
import { audioFields } from '../shared/audioFields.ts';
import type { AudioRequest, MediaFile, VideoRequest } from '../shared/provider.ts';
import { type DurationForm, type Family, familyOf } from './families.ts';

/** A medium of the order and the address under which fal can read it. */
export interface UploadedMedium extends Pick<MediaFile, 'role' | 'index' | 'element'> {
  url: string;
}

export type FalInput = Record<string, unknown>;

/** `media` is empty for audio. */
export function toInput(request: AudioRequest | VideoRequest, media: readonly UploadedMedium[]): FalInput {
  const family = familyOf(request.upstreamModel, request.kind);
  const ours = request.kind === 'audio' ? audioFields(request) : videoFields(request, media);
  return renamed(ours, family);
}

function videoFields(order: VideoOrder, media: readonly UploadedMedium[]): FalInput {
  return {
    prompt: order.prompt,
    negative_prompt: order.negativePrompt,
    duration: order.durationSeconds,
    aspect_ratio: order.aspectRatio,
    resolution: order.resolution,
    audio: order.audio,
    ...mediaFields(media),
    elements: elementsOf(media),
    keyframes: keyframesOf(order, media),
    camera_trajectory: order.cameraTrajectory,
    omni_reference_task_type: order.omniReferenceTask,
    bitrate_mode: order.bitrateMode,
    ...upscaleFields(order.upscale),
  };
}

function mediaFields(media: readonly UploadedMedium[]): FalInput {
  const all = (role: UploadedMedium['role']) => {
    const found = inOrder(media.filter((medium) => medium.role === role)).map(({ url }) => url);
    return found.length === 0 ? undefined : found;
  };
  return {
    image_url: all('image')?.[0],
    end_image_url: all('end_image')?.[0],
    audio_url: all('audio')?.[0],
    video_url: all('video')?.[0],
    reference_image_urls: all('reference_image'),
    reference_video_urls: all('reference_video'),
    reference_audio_urls: all('reference_audio'),
    reference_document_urls: all('reference_document'),
    scene_image_urls: all('scene_image'),
  };
}

function inOrder<Medium extends UploadedMedium>(media: readonly Medium[]): Medium[] {
  return [...media].sort((one, other) => one.index - other.index);
}

function elementsOf(media: readonly UploadedMedium[]): FalInput[] | undefined {
  const numbers = media.flatMap(({ element }) => (element === undefined ? [] : [element]));
  const elements = [...new Set(numbers)]
    .sort((one, other) => one - other)
    .map((element) => {
      const own = inOrder(media.filter((medium) => medium.element === element));
      const urls = (role: UploadedMedium['role']) =>
        own.flatMap((each) => (each.role === role ? each.url : []));
      const references = urls('element_reference_image');
      return defined({
        frontal_image_url: urls('element_frontal_image')[0],
        reference_image_urls: references.length === 0 ? undefined : references,
        video_url: urls('element_video')[0],
      });
    });
  return elements.length === 0 ? undefined : elements;
}

function keyframesOf(order: VideoOrder, media: readonly UploadedMedium[]): FalInput[] | undefined {
  return order.keyframes?.map(({ frameIndex }, index) => ({
    image_url: media.find((medium) => medium.role === 'keyframe' && medium.index === index)?.url,
    frame_index: frameIndex,
  }));
}

function upscaleFields(upscale: VideoOrder['upscale']): FalInput {
  return {
    upscale_factor: upscale?.factor,
    enhancement_model: upscale?.enhancementModel,
    target_fps: upscale?.targetFps,
    slowdown_factor: upscale?.slowdownFactor,
    compression: upscale?.compression,
    creativity: upscale?.creativity,
    halo: upscale?.halo,
    noise: upscale?.noise,
    realism: upscale?.realism,
    recover_detail: upscale?.recoverDetail,
    sharp: upscale?.sharp,
    grain: upscale?.grain,
    softness: upscale?.softness,
    h264_output: upscale?.h264Output,
    output_format: upscale?.outputFormat,
  };
}

function renamed(ours: FalInput, family: Family): FalInput {
  const input: FalInput = { ...family.fixed };
  for (const [field, value] of Object.entries(defined(ours))) {
    const name = Object.hasOwn(family.names, field) ? family.names[field] : field;
    if (name === null || name === undefined) continue;
    const said = saidBy(family, field, value);
    const before = input[name];
    input[name] = Array.isArray(before) && Array.isArray(said) ? [...before, ...said] : said;
  }
  return input;
}

function saidBy(family: Family, field: string, value: unknown): unknown {
  if (typeof value === 'number' && (field === 'duration' || field === 'duration_seconds')) {
    return lengthAs(family.duration, value);
  }
  return Array.isArray(value) && family.single?.includes(field) ? value[0] : value;
}

function lengthAs(form: DurationForm, seconds: number): string | number {
  if (typeof form === 'object') return Math.round(seconds * form.frames);
  if (form === 'number') return seconds;
  return form === 'text' ? String(seconds) : `${seconds}s`;
}

function defined(fields: FalInput): FalInput {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
