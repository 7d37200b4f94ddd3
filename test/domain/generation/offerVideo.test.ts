import { describe, expect, it } from 'vitest';
import { offerVideo } from '../../../domain/generation/offerVideo.ts';
import type { VideoFields } from '../../../domain/generation/videoFields.ts';
import { type VideoEntry, video } from './models.ts';

const URL = 'https://media.example.org/a.png';
const ORDER: VideoFields = { prompt: 'a tram at dawn', duration: '5s' };

function offer(entry: VideoEntry, fields: VideoFields = {}) {
  return offerVideo(video(entry), { ...ORDER, ...fields });
}

const IMAGE: VideoEntry = { constraints: { model_type: 'image-to-video' } };
const SOURCE: VideoEntry = { constraints: { model_type: 'video', durations: [] } };
const UPSCALER: VideoEntry = {
  constraints: {
    ...{ model_type: 'video', durations: [], resolutions: [], aspect_ratios: [] },
    topaz: {
      models: ['fine', 'clean'],
      sliders: ['sharp'],
      selects: ['target_fps'],
      no_upscale_models: ['clean'],
    },
  },
  inputs: { upscale: true },
};
const camera = (...times: number[]) => times.map((time) => ({ time, azimuth: 0, elevation: 0, distance: 1 }));

describe('a video order', () => {
  it.each([
    ['no prompt', {}, { prompt: undefined }, 'prompt'],
    ['an empty prompt', {}, { prompt: ' ' }, 'prompt'],
    ['a prompt over the usual limit', {}, { prompt: 'a'.repeat(2_501) }, 'prompt'],
    ['a prompt over the limit of the model', { constraints: { prompt_character_limit: 5 } }, {}, 'prompt'],
    ['what not to show', {}, { negative_prompt: 'rain' }, 'negative_prompt'],
    ['no length', {}, { duration: undefined }, 'duration'],
    ['a length that the model does not have', {}, { duration: '7s' }, 'duration'],
    ['a length left to the service', {}, { duration: 'auto' }, 'duration'],
    ['the length of a source left to the service', SOURCE, { video_url: URL, duration: 'auto' }, 'duration'],
    ['a source of more than 300 s', SOURCE, { video_url: URL, duration: '301' }, 'duration'],
    ['a shape that the model does not have', {}, { aspect_ratio: '9:16' }, 'aspect_ratio'],
    ['a shape of a model without', { constraints: { aspect_ratios: [] } }, { aspect_ratio: '1:1' }, 'aspect_ratio'],
    ['a size that the model does not have', {}, { resolution: '1080p' }, 'resolution'],
    ['a choice of sound that there is not', {}, { audio: true }, 'audio'],
    ['an image for a model of words', {}, { image_url: URL }, 'image_url'],
    ['no image for a model of images', IMAGE, {}, 'image_url'],
    ['an end image', IMAGE, { image_url: URL, end_image_url: URL }, 'end_image_url'],
    ['a sound track', {}, { audio_url: URL }, 'audio_url'],
    ['no source', SOURCE, {}, 'video_url'],
    ['a source for a model of words', {}, { video_url: URL }, 'video_url'],
    ['reference images', {}, { reference_image_urls: [URL] }, 'reference_image_urls'],
    [
      'too many of them',
      { inputs: { referenceImages: 1 } },
      { reference_image_urls: [URL, URL] },
      'reference_image_urls',
    ],
    [
      'reference sounds alone',
      { inputs: { referenceAudios: 2 } },
      { reference_audio_urls: [URL] },
      'reference_audio_urls',
    ],
    ['scenes', {}, { scene_image_urls: [URL] }, 'scene_image_urls'],
    ['elements', {}, { elements: [{ frontal_image_url: URL }] }, 'elements'],
    ['an element of nothing', { inputs: { elements: 1 } }, { elements: [{}] }, 'elements.0'],
    ['key frames', {}, { keyframes: [{ image_url: URL, frame_index: 0 }] }, 'keyframes'],
    [
      'two key frames at one place',
      { inputs: { keyframes: 2 } },
      { keyframes: [0, 0].map((frame_index) => ({ image_url: URL, frame_index })) },
      'keyframes.1.frame_index',
    ],
    [
      'a key frame after the end',
      { inputs: { keyframes: 2 } },
      { keyframes: [{ image_url: URL, frame_index: 121 }] },
      'keyframes.0.frame_index',
    ],
    ['a camera', IMAGE, { image_url: URL, camera_trajectory: camera(0, 1) }, 'camera_trajectory'],
    [
      'a camera without an image',
      { inputs: { cameraTrajectory: true } },
      { camera_trajectory: camera(0, 1) },
      'camera_trajectory',
    ],
    [
      'a camera that goes back in time',
      { ...IMAGE, inputs: { cameraTrajectory: true } },
      { image_url: URL, camera_trajectory: camera(0, 0.5, 0.5) },
      'camera_trajectory.2.time',
    ],
    [
      'a camera of 33 turns',
      { ...IMAGE, inputs: { cameraTrajectory: true } },
      {
        image_url: URL,
        camera_trajectory: camera(0, 1).map((point, at) => ({ ...point, azimuth: at * 33 * 360 })),
      },
      'camera_trajectory',
    ],
    ['a task', {}, { omni_reference_task_type: 'reference' }, 'omni_reference_task_type'],
    [
      'a task that the model does not have',
      { inputs: { omniReferenceTasks: ['auto'] } },
      { omni_reference_task_type: 'edit' },
      'omni_reference_task_type',
    ],
    [
      'an edit of nothing',
      { inputs: { omniReferenceTasks: ['edit'] } },
      { omni_reference_task_type: 'edit' },
      'omni_reference_task_type',
    ],
    ['a bit rate', {}, { bitrate_mode: 'high' }, 'bitrate_mode'],
    ['a consent that nobody asked for', {}, { consents: { seedance: {} } }, 'consents'],
    ['an upscale factor', {}, { upscale_factor: 2 }, 'upscale_factor'],
    ['a size of an upscaler', UPSCALER, { prompt: undefined, video_url: URL, resolution: '720p' }, 'resolution'],
    ['a prompt of an upscaler', UPSCALER, { video_url: URL }, 'prompt'],
    ['a slider that it does not have', UPSCALER, { prompt: undefined, video_url: URL, noise: 0.5 }, 'noise'],
    [
      'a select that it does not have',
      UPSCALER,
      { prompt: undefined, video_url: URL, slowdown_factor: 2 },
      'slowdown_factor',
    ],
    ['H.264 of an upscaler without', UPSCALER, { prompt: undefined, video_url: URL, h264_output: true }, 'h264_output'],
    [
      'a model of enhancement that it does not have',
      UPSCALER,
      { prompt: undefined, video_url: URL, enhancement_model: 'x' },
      'enhancement_model',
    ],
    [
      'an enlargement by a model that only cleans',
      UPSCALER,
      { prompt: undefined, video_url: URL, enhancement_model: 'clean', upscale_factor: 2 },
      'upscale_factor',
    ],
  ] satisfies [string, VideoEntry, VideoFields, string][])('is refused by field for %s', (_, entry, fields, field) => {
    expect(offer(entry, fields)).toMatchObject({ ok: false, field });
  });

  it('has every default of the model before it is quoted or sent', () => {
    const entry: VideoEntry = {
      constraints: { audio: true, audio_configurable: true },
      inputs: { bitrateMode: true, omniReferenceTasks: ['reference', 'auto'] },
    };
    expect(offer(entry)).toMatchObject({
      ok: true,
      order: {
        ...{ durationSeconds: 5, aspectRatio: '16:9', resolution: '480p', audio: true },
        ...{ bitrateMode: 'standard', omniReferenceTask: 'auto' },
      },
      usage: { durationSeconds: 5, resolution: '480p' },
    });
  });

  it('names its media in the order of the fields (VIDEO-9)', () => {
    const inputs = { endImage: 'optional', referenceImages: 2, elements: 1, keyframes: 1 } as const;
    const found = offer(
      { ...IMAGE, inputs },
      {
        keyframes: [{ image_url: 'https://a/k', frame_index: 3 }],
        elements: [{ frontal_image_url: 'https://a/f', reference_image_urls: ['https://a/e'] }],
        ...{
          reference_image_urls: ['https://a/r0', 'https://a/r1'],
          end_image_url: 'https://a/z',
          image_url: URL,
        },
      },
    );
    expect(found).toMatchObject({
      ok: true,
      media: [
        { role: 'image', index: 0 },
        { role: 'end_image', index: 0 },
        { role: 'reference_image', index: 0 },
        { role: 'reference_image', index: 1 },
        { role: 'element_frontal_image', index: 0, element: 0 },
        { role: 'element_reference_image', index: 0, element: 0 },
        { role: 'keyframe', index: 0 },
      ],
      order: { keyframes: [{ frameIndex: 3 }] },
    });
  });

  it('is priced at the maximum length when the service decides', () => {
    const found = offer({ constraints: { durations: ['5s', '15s', 'auto'] } }, { duration: 'auto' });
    expect(found).toMatchObject({ ok: true, usage: { durationSeconds: 15 } });
    expect((found as { order: object }).order).not.toHaveProperty('durationSeconds');
  });

  it('of an upscaler doubles by default, and only enhances if its model does', () => {
    const silent = { prompt: undefined, duration: undefined, video_url: URL };
    expect(offer(UPSCALER, { ...silent, sharp: 0.3, target_fps: 60 })).toMatchObject({
      order: { upscale: { factor: 2, enhancementModel: 'fine', sharp: 0.3, targetFps: 60 } },
    });
    expect(offer(UPSCALER, { ...silent, enhancement_model: 'clean' })).toMatchObject({
      order: { upscale: { factor: 1, enhancementModel: 'clean' } },
    });
  });
});
