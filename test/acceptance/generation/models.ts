/** Music and video models as an operator configures them, one for each price and rule. */

const price = (usd: number) => ({ usd, diem: usd });
/** Prices are not round, so that rounding twice shows. */
const byResolution = { any: price(0.010_101_011), '1080p': price(0.020_202_023) };

export function music(id: string, pricing: object, spec: object = {}): object {
  const named = { name: `Acceptance ${id}`, min_prompt_length: 1, prompt_character_limit: 100, ...spec };
  return { id, type: 'music', provider: 'simulated', privacy: 'private', spec: { ...named, pricing } };
}

export interface VideoParts {
  constraints?: object;
  inputs?: object;
  price?: object;
}

export function video(id: string, { constraints, inputs, price: unit }: VideoParts = {}): object {
  return {
    ...{ id, type: 'video', provider: 'simulated', privacy: 'private' },
    price: unit ?? { perSecond: byResolution },
    ...(inputs && { inputs }),
    spec: {
      name: `Acceptance ${id}`,
      constraints: {
        ...{ model_type: 'text-to-video', durations: ['1s', '5s', '10s'] },
        ...{ resolutions: ['256p', '1080p'], aspect_ratios: ['16:9', '1:1'], ...constraints },
      },
    },
  };
}

export const PER_LETTER = { per_thousand_characters: price(0.013_700_007) };
export const PER_SECOND = { per_second: price(0.000_333_333) };
export const PER_PIECE = { generation: price(0.012_345_679) };
export const BY_TIER = { durations: { 10: price(0.011), 30: price(0.029_000_001) } };

/** All members of a music model's `spec`. */
export const EVERY_MUSIC_OPTION = {
  ...{ supports_lyrics: true, lyrics_character_limit: 20, supports_force_instrumental: true },
  ...{ supports_lyrics_optimizer: true, supports_loop: true, supports_language_code: true },
  ...{ supports_speed: true, min_speed: 0.5, max_speed: 2, voices: ['alto', 'bass'], default_voice: 'alto' },
  ...{ min_prompt_length: 3, min_duration: 2, max_duration: 30, default_duration: 5 },
};

const EVERY_INPUT = {
  ...{ image: 'optional', endImage: 'optional', video: 'optional', negativePrompt: true },
  ...{ referenceImages: 30, referenceVideos: 4, referenceAudios: 2, referenceDocuments: 1 },
  ...{ sceneImages: 4, elements: 4, keyframes: 10, referenceVideoSeconds: 6 },
  ...{
    cameraTrajectory: true,
    omniReferenceTasks: ['auto', 'reference', 'edit', 'extend'],
    bitrateMode: true,
  },
};

/** Accepts every published field except those of upscalers. */
export const EVERYTHING: VideoParts = {
  constraints: {
    ...{ audio: true, audio_configurable: true, audio_input: true, prompt_character_limit: 40 },
    ...{ reference_image_min_short_side_pixels: 256, reference_image_min_aspect_ratio: 0.5 },
    ...{ reference_image_max_aspect_ratio: 2, resolutions: ['256p', '1080p'] },
  },
  price: { perSecond: byResolution, silent: { any: price(0.007_000_003) } },
  inputs: EVERY_INPUT,
};

export const PER_VIDEO: VideoParts = {
  constraints: { durations: ['5s', '10s', 'auto'], resolutions: ['720p', '4k'] },
  price: { perGeneration: { any: price(0.123_456_789), '4k': price(0.5) } },
};

/** `auto` costs as much as the longest listed duration. */
export const OF_ITS_OWN_LENGTH: VideoParts = { constraints: { durations: ['5s', '7s', 'auto'] } };

export const BY_SOURCE: VideoParts = {
  constraints: { model_type: 'video', durations: ['auto'], resolutions: ['256p', '1080p'] },
};

export const UPSCALER: VideoParts = {
  constraints: {
    ...{ model_type: 'video', durations: ['auto'], resolutions: [], aspect_ratios: [] },
    topaz: {
      models: ['sharpener', 'cleaner'],
      no_upscale_models: ['cleaner'],
      sliders: [
        ...['compression', 'creativity', 'halo', 'noise', 'realism', 'recover_detail', 'sharp'],
        ...['grain', 'softness'],
      ],
      selects: ['target_fps', 'slowdown_factor', 'output_format'],
      h264_output: true,
    },
  },
  price: {
    perOutputSecond: { 200: price(0.001_000_001), 400: price(0.002_000_003), 2160: price(0.01) },
    highFrameRate: { above: 48, factor: 2 },
  },
  inputs: { upscale: true },
};

export const OF_FACES: VideoParts = {
  inputs: {
    ...{
      image: 'optional',
      endImage: 'optional',
      referenceImages: 4,
      referenceVideos: 2,
      consent: 'seedance',
    },
  },
};

/** A local model of the same kind exists. */
export const OF_PICTURES: VideoParts = {
  constraints: { model_type: 'image-to-video' },
  inputs: { image: 'optional' },
};

export const LINKED: VideoParts = { inputs: { downloadLink: true } };

/** A source that only guides the video does not change its price. */
export const GUIDED: VideoParts = { constraints: { video_input: true } };
