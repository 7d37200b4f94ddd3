/**
 * Models of the stub with immediate results: pictures, transcripts, speech, voices. The compiler checks their fields
 * against the service's own client. Unlike the service, the stub refuses unknown fields, so that wrong names show.
 */
import type { EndpointTypeMap } from '@fal-ai/client/endpoints';
import { greyPng } from '../../engines/media/pictureFiles.ts';
import { silentMp3, testWav } from '../elevenlabsAudio.ts';

export type MediaOutput = 'images' | 'image' | 'speech' | 'transcript' | 'voice';

export interface MediaRule {
  output: MediaOutput;
  required: readonly string[];
  known: readonly string[];
  oneOf?: Readonly<Record<string, readonly unknown[]>>;
  numbers?: readonly string[];
  /** Reports the findings of its safety checker. */
  judges?: true;
}

type Field<Id extends keyof EndpointTypeMap> = keyof EndpointTypeMap[Id]['input'] & string;

function rule<Id extends keyof EndpointTypeMap>(
  _id: Id,
  {
    known,
    required,
    ...more
  }: { known: readonly Field<Id>[]; required: readonly Field<Id>[] } & Omit<MediaRule, 'known' | 'required'>,
): MediaRule {
  return { known: [...required, ...known], required, ...more };
}

const FORMATS = { output_format: ['jpeg', 'png', 'webp'] };

export const MEDIA_MODELS: Readonly<Record<string, MediaRule>> = {
  'fal-ai/z-image/turbo': rule('fal-ai/z-image/turbo', {
    output: 'images',
    required: ['prompt'],
    known: [
      ...(['image_size', 'num_images', 'num_inference_steps', 'output_format', 'seed'] as const),
      'enable_safety_checker',
    ],
    oneOf: FORMATS,
    numbers: ['num_images', 'num_inference_steps', 'seed'],
    judges: true,
  }),
  'fal-ai/qwen-image': rule('fal-ai/qwen-image', {
    output: 'images',
    required: ['prompt'],
    known: [
      ...(['image_size', 'num_images', 'num_inference_steps', 'output_format', 'seed'] as const),
      ...(['enable_safety_checker', 'guidance_scale', 'negative_prompt'] as const),
    ],
    oneOf: { output_format: ['jpeg', 'png'] },
    judges: true,
  }),
  'fal-ai/nano-banana-2': rule('fal-ai/nano-banana-2', {
    output: 'images',
    required: ['prompt'],
    known: [
      ...(['aspect_ratio', 'resolution', 'num_images', 'output_format', 'seed'] as const),
      ...(['enable_web_search', 'safety_tolerance', 'thinking_level'] as const),
    ],
    oneOf: { ...FORMATS, resolution: ['0.5K', '1K', '2K', '4K'], safety_tolerance: ['2', '6'] },
  }),
  'fal-ai/flux-2-pro': rule('fal-ai/flux-2-pro', {
    output: 'images',
    required: ['prompt'],
    known: ['image_size', 'output_format', 'seed', 'enable_safety_checker', 'safety_tolerance'],
  }),
  'fal-ai/nano-banana-pro/edit': rule('fal-ai/nano-banana-pro/edit', {
    output: 'images',
    required: ['prompt', 'image_urls'],
    known: ['aspect_ratio', 'resolution', 'output_format', 'seed', 'safety_tolerance'],
  }),
  'fal-ai/flux-2-max/edit': rule('fal-ai/flux-2-max/edit', {
    output: 'images',
    required: ['prompt', 'image_urls'],
    known: ['image_size', 'output_format', 'seed', 'enable_safety_checker', 'safety_tolerance'],
  }),
  'fal-ai/flux-pro/kontext': rule('fal-ai/flux-pro/kontext', {
    output: 'images',
    required: ['prompt', 'image_url'],
    known: ['aspect_ratio', 'output_format', 'guidance_scale', 'seed', 'safety_tolerance'],
    judges: true,
  }),
  'fal-ai/flux-pro/v1/fill': rule('fal-ai/flux-pro/v1/fill', {
    output: 'images',
    required: ['prompt', 'image_url', 'mask_url'],
    known: ['output_format', 'seed', 'safety_tolerance'],
  }),
  'fal-ai/bria/background/remove': rule('fal-ai/bria/background/remove', {
    output: 'image',
    required: ['image_url'],
    known: [],
  }),
  'fal-ai/birefnet': rule('fal-ai/birefnet', {
    output: 'image',
    required: ['image_url'],
    known: ['output_format'],
  }),
  'fal-ai/clarity-upscaler': rule('fal-ai/clarity-upscaler', {
    output: 'image',
    required: ['image_url'],
    known: ['upscale_factor', 'creativity'],
    numbers: ['upscale_factor', 'creativity'],
  }),
  'fal-ai/esrgan': rule('fal-ai/esrgan', {
    output: 'image',
    required: ['image_url'],
    known: ['scale', 'output_format'],
    numbers: ['scale'],
  }),
  'fal-ai/wizper': rule('fal-ai/wizper', {
    output: 'transcript',
    required: ['audio_url'],
    known: ['task', 'language', 'chunk_level'],
  }),
  'fal-ai/whisper': rule('fal-ai/whisper', {
    output: 'transcript',
    required: ['audio_url'],
    known: ['task', 'language', 'chunk_level'],
  }),
  'fal-ai/kokoro/american-english': rule('fal-ai/kokoro/american-english', {
    output: 'speech',
    required: [],
    known: ['prompt', 'voice', 'speed'],
  }),
  'resemble-ai/chatterboxhd/text-to-speech': rule('resemble-ai/chatterboxhd/text-to-speech', {
    output: 'speech',
    required: [],
    known: ['text', 'voice', 'audio_url', 'temperature', 'high_quality_audio'],
  }),
  'fal-ai/minimax/speech-02-hd': rule('fal-ai/minimax/speech-02-hd', {
    output: 'speech',
    required: ['text'],
    known: ['voice_setting', 'audio_setting', 'language_boost', 'output_format'],
    oneOf: { output_format: ['url', 'hex'] },
  }),
  'fal-ai/orpheus-tts': rule('fal-ai/orpheus-tts', {
    output: 'speech',
    required: ['text'],
    known: ['voice', 'temperature'],
  }),
  // Its fields are those of its predecessor, the only one in the types of the client.
  'fal-ai/gemini-3.1-flash-tts': rule('fal-ai/gemini-tts', {
    output: 'speech',
    required: ['prompt'],
    known: ['voice', 'style_instructions', 'temperature', 'output_format'],
    oneOf: { output_format: ['wav', 'mp3', 'ogg_opus'] },
  }),
  'xai/tts/v1': rule('xai/tts/v1', {
    output: 'speech',
    required: ['text'],
    known: ['voice', 'language', 'output_format'],
  }),
  'fal-ai/minimax/voice-clone': rule('fal-ai/minimax/voice-clone', {
    output: 'voice',
    required: ['audio_url'],
    known: ['model'],
  }),
};

interface MadeOrder {
  requestId: string;
  model: string;
  input: Record<string, unknown>;
  baseUrl: string;
}

export const CHUNKS = [
  { text: ' And so, my fellow', timestamp: [0, 1.5] },
  { text: ' Americans.', timestamp: [1.5, null] },
];

/** Undefined for other models. The safety checker finds prompts with the word "bare". */
export function mediaResult({ requestId, model, input, baseUrl }: MadeOrder): object | undefined {
  const found = MEDIA_MODELS[model];
  const at = (name: string, type: string) => ({
    url: `${baseUrl}/outputs/${requestId}-${name}`,
    content_type: type,
    file_name: name,
  });
  switch (found?.output) {
    case 'images': {
      const count = Number(input.num_images ?? 1);
      const images = Array.from({ length: count }, (_, index) => at(`${index}.png`, 'image/png'));
      const isBare = String(input.prompt).includes('bare') && input.enable_safety_checker !== false;
      return { images, seed: 7, ...(found.judges && { has_nsfw_concepts: images.map(() => isBare) }) };
    }
    case 'image':
      return { image: at('0.png', 'image/png') };
    case 'transcript':
      return { text: ' And so, my fellow Americans.', chunks: CHUNKS, languages: ['en'] };
    case 'speech': {
      const format = (input.audio_setting as { format?: string } | undefined)?.format;
      return {
        audio: format === undefined ? at('0.wav', 'audio/wav') : at(`0.${format}`, `audio/${format}`),
      };
    }
    case 'voice':
      return { custom_voice_id: 'Voice3f2a' };
    default:
      return undefined;
  }
}

const FILES: Readonly<Record<string, { type: string; bytes: Buffer }>> = {
  png: { type: 'image/png', bytes: greyPng({ width: 8, height: 8 }) },
  wav: { type: 'audio/wav', bytes: testWav(1) },
  flac: { type: 'audio/flac', bytes: Buffer.from('fLaC and more') },
  pcm: { type: 'application/octet-stream', bytes: Buffer.alloc(480) },
  mp3: { type: 'audio/mpeg', bytes: silentMp3(1) },
};

export function outputFile(path: string): { type: string; bytes: Buffer } | undefined {
  return FILES[path.slice(path.lastIndexOf('.') + 1)];
}
