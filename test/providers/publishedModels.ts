/**
 * Names that each service has, written by hand from its own documentation: published ids, each with the name. Models
 * that are not here need a mapping of the operator.
 */
import type { EndpointTypeMap } from '@fal-ai/client/endpoints';

/** The compiler checks these against the endpoint types of the service's own client. */
const FAL_ENDPOINTS: Readonly<Record<string, keyof EndpointTypeMap>> = {
  'z-image-turbo': 'fal-ai/z-image/turbo',
  'qwen-image': 'fal-ai/qwen-image',
  'nano-banana-2': 'fal-ai/nano-banana-2',
  'nano-banana-pro': 'fal-ai/nano-banana-pro',
  'flux-2-pro': 'fal-ai/flux-2-pro',
  'bria-bg-remover': 'fal-ai/bria/background/remove',
  upscaler: 'fal-ai/clarity-upscaler',
  'flux-2-max-edit': 'fal-ai/flux-2-max/edit',
  'nano-banana-2-edit': 'fal-ai/nano-banana-2/edit',
  'nano-banana-pro-edit': 'fal-ai/nano-banana-pro/edit',
  'qwen-image-2-edit': 'fal-ai/qwen-image-2/edit',
  'qwen-image-2-pro-edit': 'fal-ai/qwen-image-2/pro/edit',
  'seedream-v4-edit': 'fal-ai/bytedance/seedream/v4/edit',
  'seedream-v5-lite-edit': 'fal-ai/bytedance/seedream/v5/lite/edit',
  'fal-ai/wizper': 'fal-ai/wizper',
  'tts-chatterbox-hd': 'resemble-ai/chatterboxhd/text-to-speech',
  'tts-minimax-speech-02-hd': 'fal-ai/minimax/speech-02-hd',
  'tts-orpheus': 'fal-ai/orpheus-tts',
  'tts-xai-v1': 'xai/tts/v1',
};

/** Newer than the types of the client, from the pages of the models. */
const FAL_PAGES = {
  'tts-gemini-3-1-flash': 'fal-ai/gemini-3.1-flash-tts',
  'lyria-3-pro': 'fal-ai/lyria3/pro',
  'minimax-music-v2': 'fal-ai/minimax-music/v2',
  'minimax-music-v25': 'fal-ai/minimax-music/v2.5',
  'minimax-music-v26': 'fal-ai/minimax-music/v2.6',
  'mmaudio-v2-text-to-audio': 'fal-ai/mmaudio-v2/text-to-audio',
  'seed-audio-1-0': 'bytedance/seed-audio-1.0',
  'sonilo-v1-1-music': 'sonilo/v1.1/text-to-music',
  'sonilo-v1-1-sound-effects': 'sonilo/v1.1/text-to-sound-effects',
  'stable-audio-25': 'fal-ai/stable-audio-25/text-to-audio',
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

/** By kind of provider. */
export const SERVED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  openai: {
    'openai-gpt-52': 'gpt-5.2',
    'openai-gpt-4o-mini-2024-07-18': 'gpt-4o-mini-2024-07-18',
    'text-embedding-3-large': 'text-embedding-3-large',
    'text-embedding-3-small': 'text-embedding-3-small',
    'gpt-image-2': 'gpt-image-2',
    'gpt-image-1-5-edit': 'gpt-image-1.5',
    'gpt-image-2-edit': 'gpt-image-2',
  },
  anthropic: { 'claude-sonnet-5': 'claude-sonnet-5', 'claude-opus-5': 'claude-opus-5' },
  elevenlabs: {
    'elevenlabs-voice-changer': 'eleven_multilingual_sts_v2',
    'tts-elevenlabs-turbo-v2-5': 'eleven_turbo_v2_5',
    'elevenlabs/scribe-v2': 'scribe_v2',
    'elevenlabs-tts-multilingual-v2': 'eleven_multilingual_v2',
    'elevenlabs-music': 'music_v1',
    'elevenlabs-sound-effects-v2': 'eleven_text_to_sound_v2',
    'elevenlabs-tts-v3': 'eleven_v3',
  },
  fal: { ...FAL_ENDPOINTS, ...FAL_PAGES },
  replicate: { 'ace-step-15': 'fishaudio/ace-step-1.5', 'runway-gen4-5': 'runwayml/gen-4.5' },
};
