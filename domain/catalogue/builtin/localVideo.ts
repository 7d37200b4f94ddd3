/** Local video: no key, no network, no learned model. Not in the published list; priced here. */
import { DEFAULT_CREATED, type VideoModel } from '../model.ts';
import { prices } from './entry.ts';

const OURS = {
  kind: 'video',
  type: 'video',
  provider: 'local',
  privacy: 'private',
  modelSource: '',
  created: DEFAULT_CREATED,
} as const;

export const LOCAL_VIDEO: VideoModel = {
  ...OURS,
  id: 'local-video',
  upstreamModel: 'ffmpeg-video',
  name: 'Local Video',
  description:
    'Made on this machine without any learnt model. From a prompt: its sentences as titles over a moving gradient whose ' +
    'colours it decides. From pictures: a slow zoom, a camera trajectory (distance zooms, azimuth and elevation look ' +
    'aside), cuts from picture to picture, and keyframes shown exactly at their frame of 24 per second. Sound: the given ' +
    'audio, or a soft generated chord. Titles are shown in Latin, Greek, Cyrillic and some other scripts; a character ' +
    'that the font lacks is a box. What cannot be read in the time is left out.',
  spec: {
    constraints: {
      model_type: 'image-to-video',
      durations: Array.from({ length: 30 }, (_, index) => `${index + 1}s`),
      resolutions: ['720p', '256p', '360p', '480p', '540p', '1080p'],
      aspect_ratios: ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '5:4', '4:5', '21:9', '9:21', 'auto'],
      audio: true,
      audio_configurable: true,
      audio_input: true,
      prompt_character_limit: 20_000,
    },
  },
  price: {
    perSecond: prices({ any: 0.002, '1080p': 0.004 }),
    silent: prices({ any: 0.0015, '1080p': 0.003 }),
  },
  inputs: {
    prompt: 'required',
    image: 'optional',
    endImage: 'optional',
    referenceImages: 8,
    sceneImages: 4,
    keyframes: 10,
    cameraTrajectory: true,
  },
};

export const LOCAL_UPSCALE: VideoModel = {
  ...OURS,
  id: 'local-upscale',
  upstreamModel: 'ffmpeg-upscale',
  name: 'Local Upscale',
  description:
    'Enlarges, cleans, sharpens and slows a video on this machine by classic filters: it invents no detail. Outputs up ' +
    'to 4096x2160. Frames in between are repeated.',
  spec: {
    constraints: {
      model_type: 'video',
      durations: [],
      resolutions: [],
      aspect_ratios: [],
      video_input: true,
      topaz: {
        models: ['local-lanczos', 'local-bicubic', 'local-pixel'],
        sliders: ['compression', 'halo', 'noise', 'recover_detail', 'sharp', 'grain', 'softness'],
        selects: ['target_fps', 'slowdown_factor', 'output_format'],
        h264_output: true,
      },
    },
  },
  price: {
    perOutputSecond: prices({ '720': 0.001, '1080': 0.002, '4096': 0.008 }),
    highFrameRate: { above: 48, factor: 2 },
  },
  inputs: { upscale: true },
};

export const LOCAL_VIDEO_MODELS: readonly VideoModel[] = [LOCAL_VIDEO, LOCAL_UPSCALE];
