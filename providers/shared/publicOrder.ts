/**
 * Orders under the field names of the published API (AUDIO-1, VIDEO-1). Adapters derive service names from them, and
 * models without a row of their own get them as they are. Durations are whole seconds.
 */
import type { AudioOrder } from '../../domain/generation/audioOrder.ts';
import type { MediaRole } from '../../domain/generation/media.ts';
import type { UpscaleOrder, VideoOrder } from '../../domain/generation/videoOrder.ts';
import type { MediaFile } from './provider.ts';
import { definedFields, type Fields } from './textFailures.ts';

export interface PublicMedium extends Pick<MediaFile, 'role' | 'index' | 'element'> {
  /** URL of the medium, or the file until it has one. */
  value: unknown;
}

/** `media` is empty for audio. */
export function publicOrder(order: AudioOrder | VideoOrder, media: readonly PublicMedium[]): Fields {
  return definedFields(order.kind === 'audio' ? audioFields(order) : videoFields(order, media));
}

function audioFields(order: AudioOrder): Fields {
  return {
    prompt: order.prompt,
    lyrics_prompt: order.lyrics,
    duration_seconds: order.durationSeconds,
    force_instrumental: order.forceInstrumental,
    lyrics_optimizer: order.lyricsOptimizer,
    loop: order.loop,
    voice: order.voice,
    language_code: order.languageCode,
    speed: order.speed,
  };
}

function videoFields(order: VideoOrder, media: readonly PublicMedium[]): Fields {
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
    ...mediaFields(media),
    elements: elementsOf(media),
    keyframes: keyframesOf(order, media),
  };
}

function upscaleFields(upscale: UpscaleOrder): Fields {
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

function mediaFields(media: readonly PublicMedium[]): Fields {
  const all = (role: MediaRole) => absentIfEmpty(ofRole(media, role));
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

function elementsOf(media: readonly PublicMedium[]): unknown {
  const numbers = new Set(media.flatMap(({ element }) => (element === undefined ? [] : [element])));
  const elements = [...numbers]
    .sort((one, other) => one - other)
    .map((number) => {
      const own = media.filter(({ element }) => element === number);
      return definedFields({
        frontal_image_url: ofRole(own, 'element_frontal_image')[0],
        reference_image_urls: absentIfEmpty(ofRole(own, 'element_reference_image')),
        video_url: ofRole(own, 'element_video')[0],
      });
    });
  return absentIfEmpty(elements);
}

function keyframesOf({ keyframes }: VideoOrder, media: readonly PublicMedium[]): unknown {
  return keyframes?.map(({ frameIndex }, index) => ({
    image_url: media.find((medium) => medium.role === 'keyframe' && medium.index === index)?.value,
    frame_index: frameIndex,
  }));
}

function ofRole(media: readonly PublicMedium[], role: MediaRole): unknown[] {
  return media
    .filter((medium) => medium.role === role)
    .sort((one, other) => one.index - other.index)
    .map(({ value }) => value);
}

function absentIfEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}
