import { describe, expect, it } from 'vitest';
import { BUILT_IN_MODELS } from '../../../domain/catalogue/catalogue.ts';
import type { MediaRole } from '../../../domain/generation/media.ts';
import { toInput } from '../../../providers/fal/input.ts';
import type { AudioRequest, VideoRequest } from '../../../providers/shared/provider.ts';
import type { PublicMedium } from '../../../providers/shared/publicOrder.ts';

type AudioOrder = Partial<AudioRequest>;
type VideoOrder = Partial<VideoRequest>;

const audio = (upstreamModel: string, order: AudioOrder) =>
  toInput({ kind: 'audio', reference: 'r', prompt: 'p', ...order, upstreamModel }, []);
const video = (upstreamModel: string, order: VideoOrder, media: PublicMedium[] = []) =>
  toInput({ kind: 'video', reference: 'r', media: [], ...order, upstreamModel }, media);

/** The URL names the place of the medium: `image/0`. */
function media(...places: [MediaRole, number?, number?][]): PublicMedium[] {
  return places.map(([role, index = 0, element]) => ({
    role,
    index,
    value: [role, index, element].filter((part) => part !== undefined).join('/'),
    ...(element !== undefined && { element }),
  }));
}

describe('the input of an audio model', () => {
  const song = { lyrics: 'la', forceInstrumental: false, lyricsOptimizer: true };
  it.each<[string, AudioOrder, object]>([
    ['fal-ai/stable-audio-25/text-to-audio', { durationSeconds: 30 }, { prompt: 'p', seconds_total: 30 }],
    ['fal-ai/mmaudio-v2/text-to-audio', { durationSeconds: 8 }, { prompt: 'p', duration: 8 }],
    ['sonilo/v1.1/text-to-music', { durationSeconds: 90 }, { prompt: 'p', duration: 90 }],
    ['sonilo/v1.1/text-to-sound-effects', { durationSeconds: 4 }, { prompt: 'p', duration: 4, audio_format: 'mp3' }],
    ['fal-ai/minimax-music/v2', { lyrics: 'la' }, { prompt: 'p', lyrics_prompt: 'la' }],
    ['fal-ai/minimax-music/v2.5', song, { prompt: 'p', lyrics: 'la', is_instrumental: false, lyrics_optimizer: true }],
    ['fal-ai/minimax-music/v2.6', song, { prompt: 'p', lyrics: 'la', is_instrumental: false, lyrics_optimizer: true }],
    ['fal-ai/lyria3/pro', {}, { prompt: 'p' }],
    ['bytedance/seed-audio-1.0', { voice: 'v', speed: 1.5 }, { prompt: 'p', voice: 'v', speed: 1.5 }],
    ['fal-ai/ace-step', { lyrics: 'la', durationSeconds: 60 }, { tags: 'p', lyrics: 'la', duration: 60 }],
    [
      'fal-ai/ace-step/prompt-to-audio',
      { forceInstrumental: true, durationSeconds: 60 },
      { prompt: 'p', instrumental: true, duration: 60 },
    ],
  ])("builds the fields of the model's schema for %s", (model, order, input) => {
    expect(audio(model, order)).toEqual(input);
  });

  it('uses the names of our own API for an unknown model', () => {
    const order = { ...song, durationSeconds: 9, loop: true, voice: 'v', languageCode: 'de', speed: 2 };
    expect(audio('somebody/some-model', order)).toEqual({
      prompt: 'p',
      lyrics_prompt: 'la',
      duration_seconds: 9,
      force_instrumental: false,
      lyrics_optimizer: true,
      loop: true,
      voice: 'v',
      language_code: 'de',
      speed: 2,
    });
  });
});

describe('the input of a video model', () => {
  const order = { prompt: 'p', durationSeconds: 5, aspectRatio: '16:9', resolution: '720p', audio: true };
  const usual = { prompt: 'p', aspect_ratio: '16:9', resolution: '720p' };
  it.each<[string, VideoOrder, PublicMedium[], object]>([
    ['wan/v2.6/text-to-video', order, media(['audio']), { ...usual, duration: '5', audio_url: 'audio/0' }],
    [
      'wan/v2.6/image-to-video',
      { prompt: 'p', negativePrompt: 'n', durationSeconds: 10 },
      media(['image']),
      { prompt: 'p', negative_prompt: 'n', duration: '10', image_url: 'image/0' },
    ],
    [
      'fal-ai/wan/v2.7/edit-video',
      { prompt: 'p', resolution: '1080p' },
      media(['video'], ['reference_image']),
      { prompt: 'p', resolution: '1080p', video_url: 'video/0', reference_image_url: 'reference_image/0' },
    ],
    [
      'bytedance/seedance-2.5/reference-to-video',
      { ...order, bitrateMode: 'high' },
      media(['reference_image', 1], ['reference_image', 0], ['reference_video'], ['reference_audio']),
      {
        ...usual,
        duration: '5',
        generate_audio: true,
        bitrate_mode: 'high',
        image_urls: ['reference_image/0', 'reference_image/1'],
        video_urls: ['reference_video/0'],
        audio_urls: ['reference_audio/0'],
      },
    ],
    [
      'fal-ai/kling-video/o3/pro/reference-to-video',
      { prompt: 'p', durationSeconds: 3, aspectRatio: '1:1', audio: false },
      media(
        ['image'],
        ['end_image'],
        ['reference_image'],
        ['scene_image'],
        ['element_frontal_image', 0, 1],
        ['element_reference_image', 1, 0],
        ['element_reference_image', 0, 0],
        ['element_video', 0, 1],
      ),
      {
        prompt: 'p',
        duration: '3',
        aspect_ratio: '1:1',
        generate_audio: false,
        start_image_url: 'image/0',
        end_image_url: 'end_image/0',
        image_urls: ['reference_image/0', 'scene_image/0'],
        elements: [
          { reference_image_urls: ['element_reference_image/0/0', 'element_reference_image/1/0'] },
          { frontal_image_url: 'element_frontal_image/0/1', video_url: 'element_video/0/1' },
        ],
      },
    ],
    [
      'fal-ai/kling-video/v3/pro/text-to-video',
      { ...order, negativePrompt: 'n' },
      [],
      { prompt: 'p', negative_prompt: 'n', aspect_ratio: '16:9', duration: '5', generate_audio: true },
    ],
    [
      'minimax/h3/reference-to-video',
      { ...order, resolution: '2K' },
      media(['reference_video']),
      { ...usual, resolution: '2K', duration: 5, reference_video_urls: ['reference_video/0'] },
    ],
    ['fal-ai/veo3.1/fast', order, [], { ...usual, duration: '5s', generate_audio: true }],
    [
      'fal-ai/pixverse/c1/transition',
      order,
      media(['image'], ['end_image']),
      {
        ...usual,
        duration: 5,
        generate_audio_switch: true,
        first_image_url: 'image/0',
        end_image_url: 'end_image/0',
      },
    ],
    [
      'fal-ai/longcat-video/text-to-video/720p',
      order,
      [],
      { prompt: 'p', aspect_ratio: '16:9', num_frames: 150, fps: 30 },
    ],
    ['xai/grok-imagine-video/text-to-video', order, [], { ...usual, duration: 5 }],
    [
      'fal-ai/topaz/upscale/video',
      { upscale: { factor: 4, enhancementModel: 'Proteus', targetFps: 60, halo: 0.5, h264Output: true } },
      media(['video']),
      {
        video_url: 'video/0',
        upscale_factor: 4,
        model: 'Proteus',
        target_fps: 60,
        halo: 0.5,
        H264_output: true,
      },
    ],
  ])("builds the fields of the model's schema for %s", (model, wanted, uploaded, input) => {
    expect(video(model, wanted, uploaded)).toEqual(input);
  });

  it('uses the names of our own API for an unknown model, and the length as text', () => {
    const path = [{ time: 0, azimuth: 0, elevation: 0, distance: 1 }];
    const whole = { ...order, keyframes: [{ frameIndex: 24 }], cameraTrajectory: path };
    const uploaded = media(['keyframe'], ['image'], ['reference_document']);
    expect(video('somebody/some-model', { ...whole, omniReferenceTask: 'edit' }, uploaded)).toEqual({
      ...usual,
      duration: '5',
      audio: true,
      image_url: 'image/0',
      reference_document_urls: ['reference_document/0'],
      keyframes: [{ image_url: 'keyframe/0', frame_index: 24 }],
      camera_trajectory: path,
      omni_reference_task_type: 'edit',
    });
  });

  it("applies a family's rules to every endpoint below it, and not to other endpoints with the same prefix", () => {
    expect(video('fal-ai/veo3.1', order)).toMatchObject({ duration: '5s' });
    expect(video('fal-ai/veo3.1/lite/image-to-video', order)).toMatchObject({ duration: '5s' });
    expect(video('fal-ai/veo3.10', order)).toMatchObject({ duration: '5' });
    expect(video('constructor/of', order)).toMatchObject({ audio: true });
  });
});

describe('the built-in models of fal', () => {
  const models = BUILT_IN_MODELS.flatMap((model) =>
    model.provider === 'fal' && (model.kind === 'music' || model.kind === 'video') ? [model] : [],
  );

  it('have a price exactly where the service publishes one', () => {
    const priced = models.flatMap((model) => (model.kind === 'video' && model.price ? [model.id] : []));
    expect(priced).toEqual(['wan-2.6-text-to-video', 'topaz-video-upscale']);
  });
});
