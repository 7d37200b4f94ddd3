import type { PublishedModels } from '../../domain/providerKind.ts';

/**
 * Published models with their endpoints at fal. Source: the endpoint types of fal's own client (fal-ai/fal-js,
 * libs/client/src/types/endpoints.ts) and the pages of the models.
 */
export const FAL_MODELS: PublishedModels = {
  // Images
  'z-image-turbo': 'fal-ai/z-image/turbo',
  'qwen-image': 'fal-ai/qwen-image',
  'nano-banana-2': 'fal-ai/nano-banana-2',
  'nano-banana-pro': 'fal-ai/nano-banana-pro',
  'flux-2-pro': 'fal-ai/flux-2-pro',
  'bria-bg-remover': 'fal-ai/bria/background/remove',
  upscaler: 'fal-ai/clarity-upscaler',
  // Edits
  'flux-2-max-edit': 'fal-ai/flux-2-max/edit',
  'nano-banana-2-edit': 'fal-ai/nano-banana-2/edit',
  'nano-banana-pro-edit': 'fal-ai/nano-banana-pro/edit',
  'qwen-image-2-edit': 'fal-ai/qwen-image-2/edit',
  'qwen-image-2-pro-edit': 'fal-ai/qwen-image-2/pro/edit',
  'seedream-v4-edit': 'fal-ai/bytedance/seedream/v4/edit',
  'seedream-v5-lite-edit': 'fal-ai/bytedance/seedream/v5/lite/edit',
  // Speech and transcripts
  'tts-chatterbox-hd': 'resemble-ai/chatterboxhd/text-to-speech',
  'tts-gemini-3-1-flash': 'fal-ai/gemini-3.1-flash-tts',
  'tts-minimax-speech-02-hd': 'fal-ai/minimax/speech-02-hd',
  'tts-orpheus': 'fal-ai/orpheus-tts',
  'tts-xai-v1': 'xai/tts/v1',
  'fal-ai/wizper': 'fal-ai/wizper',
  // Music and sound effects
  'lyria-3-pro': 'fal-ai/lyria3/pro',
  'minimax-music-v2': 'fal-ai/minimax-music/v2',
  'minimax-music-v25': 'fal-ai/minimax-music/v2.5',
  'minimax-music-v26': 'fal-ai/minimax-music/v2.6',
  'mmaudio-v2-text-to-audio': 'fal-ai/mmaudio-v2/text-to-audio',
  'seed-audio-1-0': 'bytedance/seed-audio-1.0',
  'sonilo-v1-1-music': 'sonilo/v1.1/text-to-music',
  'sonilo-v1-1-sound-effects': 'sonilo/v1.1/text-to-sound-effects',
  'stable-audio-25': 'fal-ai/stable-audio-25/text-to-audio',
  // Video
  'wan-2.6-text-to-video': 'wan/v2.6/text-to-video',
  'wan-2.6-image-to-video': 'wan/v2.6/image-to-video',
  'wan-2-7-video-to-video': 'fal-ai/wan/v2.7/edit-video',
  'seedance-2-5-reference-to-video-basic': 'bytedance/seedance-2.5/reference-to-video',
  'kling-o3-pro-reference-to-video': 'fal-ai/kling-video/o3/pro/reference-to-video',
  'kling-v3-pro-text-to-video': 'fal-ai/kling-video/v3/pro/text-to-video',
  'minimax-h3-reference-to-video': 'minimax/h3/reference-to-video',
  'veo3.1-fast-text-to-video': 'fal-ai/veo3.1/fast',
  'topaz-video-upscale': 'fal-ai/topaz/upscale/video',
  'pixverse-c1-transition': 'fal-ai/pixverse/c1/transition',
  'longcat-text-to-video': 'fal-ai/longcat-video/text-to-video/720p',
  'grok-imagine-text-to-video-private': 'xai/grok-imagine-video/text-to-video',
};
