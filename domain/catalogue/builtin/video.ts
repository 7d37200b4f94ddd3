/**
 * Video models (MODEL-5). Few prices are published; a model without one stays offline until a configuration prices it.
 * Unpublished privacy is `anonymized`, the safe choice for keys that require private models. Inputs are the
 * published ones that fal's endpoint also accepts (fal-ai/fal-js, libs/client/src/types/endpoints.ts).
 */
import type { VideoInputs, VideoModel, VideoPrice } from '../model.ts';
import type { Listing, VideoSpec } from '../specs.ts';
import { type BuiltInProvider, base, prices } from './entry.ts';

interface VideoRow {
  id: string;
  /** Default: fal. */
  provider?: BuiltInProvider;
  privacy?: VideoModel['privacy'];
  constraints?: NonNullable<VideoSpec['constraints']>;
  inputs?: VideoInputs;
  price?: VideoPrice;
  listing?: Listing;
}

/** `["3s", …, "15s"]`. */
function seconds(from: number, to: number): readonly string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => `${from + index}s`);
}

const WIDE_TALL = ['16:9', '9:16'] as const;
const WIDE_TALL_SQUARE = ['16:9', '9:16', '1:1'] as const;
const SEVEN = ['16:9', '4:3', '1:1', '3:4', '9:16', '2:3', '3:2'] as const;

const WAN_26: VideoRow = {
  id: 'wan-2.6-text-to-video',
  constraints: {
    model_type: 'text-to-video',
    durations: ['5s', '10s', '15s'],
    resolutions: ['1080p', '720p'],
    aspect_ratios: ['16:9', '9:16', '1:1', '4:3', '3:4'],
    audio: true,
    audio_input: true,
    prompt_character_limit: 800,
  },
  inputs: { negativePrompt: true },
  // Published for clips: 5 s of 720p 0.55, 10 s of 1080p 1.65.
  price: { perSecond: prices({ '720p': 0.11, '1080p': 0.165 }) },
};

const KLING = {
  durations: seconds(3, 15),
  resolutions: [],
  aspect_ratios: WIDE_TALL_SQUARE,
  audio: true,
  audio_configurable: true,
} as const;

const ROWS: readonly VideoRow[] = [
  WAN_26,
  {
    id: 'wan-2.6-image-to-video',
    constraints: {
      model_type: 'image-to-video',
      durations: ['5s', '10s', '15s'],
      resolutions: ['1080p', '720p'],
      aspect_ratios: [],
      audio: true,
      audio_input: true,
      prompt_character_limit: 1_500,
    },
    inputs: { negativePrompt: true },
  },
  {
    id: 'wan-2-7-video-to-video',
    constraints: {
      model_type: 'video',
      durations: ['Auto'],
      resolutions: ['1080p', '720p'],
      // A fixed ratio would crop sources of another shape.
      aspect_ratios: [],
      video_input: true,
    },
    inputs: { referenceImages: 1 },
  },
  {
    id: 'seedance-2-5-reference-to-video-basic',
    constraints: {
      model_type: 'text-to-video',
      durations: seconds(4, 30),
      resolutions: ['480p', '720p', '1080p'],
      aspect_ratios: ['auto', '21:9', '16:9', '4:3', '1:1', '3:4', '9:16'],
      audio: true,
      audio_configurable: true,
      per_reference_audio: true,
    },
    inputs: {
      referenceImages: 30,
      referenceVideos: 10,
      referenceAudios: 10,
      referenceVideoSeconds: 30,
      consent: 'seedance',
    },
  },
  {
    id: 'kling-o3-pro-reference-to-video',
    constraints: { model_type: 'image-to-video', ...KLING },
    inputs: { image: 'optional', endImage: 'optional', referenceImages: 4, sceneImages: 4, elements: 4 },
  },
  {
    id: 'kling-v3-pro-text-to-video',
    constraints: { model_type: 'text-to-video', ...KLING },
    inputs: { negativePrompt: true },
  },
  {
    id: 'minimax-h3-reference-to-video',
    constraints: {
      model_type: 'text-to-video',
      durations: seconds(5, 15),
      resolutions: ['2K'],
      aspect_ratios: ['adaptive', '21:9', '16:9', '4:3', '1:1', '3:4', '9:16'],
      audio: true,
      per_reference_audio: true,
    },
    inputs: { referenceImages: 9, referenceVideos: 3, referenceAudios: 3, referenceVideoSeconds: 15 },
  },
  {
    id: 'sora-2-text-to-video',
    // OpenAI shut down Sora 2 and the Videos API on that day, without a successor.
    listing: { deprecation: { date: '2026-09-24', removesAt: '2026-09-24', autoRemap: false } },
    constraints: {
      model_type: 'text-to-video',
      durations: ['4s', '8s', '12s'],
      resolutions: ['720p'],
      aspect_ratios: WIDE_TALL,
      audio: true,
    },
  },
  {
    id: 'veo3.1-fast-text-to-video',
    constraints: {
      model_type: 'text-to-video',
      durations: ['4s', '6s', '8s'],
      resolutions: ['720p', '1080p', '4k'],
      aspect_ratios: WIDE_TALL,
      audio: true,
      audio_configurable: true,
    },
    inputs: { negativePrompt: true },
  },
  {
    id: 'topaz-video-upscale',
    constraints: {
      model_type: 'video',
      durations: ['Auto'],
      resolutions: [],
      aspect_ratios: [],
      video_input: true,
      topaz: {
        models: [
          ...['Proteus', 'Artemis HQ', 'Artemis MQ', 'Artemis LQ', 'Gaia HQ', 'Gaia CG', 'Gaia 2'],
          ...['Nyx', 'Nyx Fast', 'Nyx XL', 'Nyx HF', 'Starlight Precise 2.5', 'Starlight HQ'],
          ...['Starlight Mini', 'Starlight Sharp', 'Starlight Fast 2', 'Starlight Precise 1'],
          ...['Starlight Precise 2', 'Starlight Fast 1'],
        ],
        sliders: ['compression', 'grain', 'halo', 'noise', 'recover_detail'],
        selects: ['target_fps'],
        h264_output: true,
        prompt: false,
      },
    },
    inputs: { upscale: true, video: 'required' },
    price: {
      // The last price holds for all heights above 1080 lines.
      perOutputSecond: prices({ '720': 0.013, '1080': 0.025, '2160': 0.1 }),
      highFrameRate: { above: 48, factor: 2 },
    },
  },
  {
    id: 'pixverse-c1-transition',
    constraints: {
      model_type: 'image-to-video',
      durations: ['3s', '5s', '8s', '10s', '15s'],
      resolutions: ['360p', '540p', '720p', '1080p'],
      aspect_ratios: [...SEVEN, '21:9'],
      audio: true,
      audio_configurable: true,
      prompt_character_limit: 2_048,
    },
    inputs: { endImage: 'required' },
  },
  // fal has no Runway models.
  { id: 'runway-gen4-5', provider: 'replicate' },
  {
    id: 'longcat-text-to-video',
    privacy: 'private',
    inputs: { negativePrompt: true },
  },
  {
    id: 'grok-imagine-text-to-video-private',
    privacy: 'private',
    constraints: {
      model_type: 'text-to-video',
      durations: seconds(1, 15),
      resolutions: ['480p', '720p'],
      aspect_ratios: SEVEN,
      audio: true,
    },
    inputs: { downloadLink: true },
  },
];

export const VIDEO_MODELS: readonly VideoModel[] = ROWS.map(
  ({ id, provider = 'fal', privacy = 'anonymized', constraints, inputs, price, listing }) => ({
    ...base({ id, provider, privacy }),
    kind: 'video',
    type: 'video',
    spec: constraints === undefined ? {} : { constraints },
    ...(inputs === undefined ? {} : { inputs }),
    ...(price === undefined ? {} : { price }),
    ...(listing === undefined ? {} : { listing }),
  }),
);
