/** Input schemas of models with immediate results. Source: as in models.ts. */

export interface Property {
  type: 'string' | 'integer' | 'number' | 'boolean' | 'uri' | 'uris';
  enum?: readonly (string | number)[];
  min?: number;
  max?: number;
  required?: true;
}

export type Schema = Readonly<Record<string, Property>>;

const TEXT = { type: 'string' } as const;
const NEEDED = { type: 'string', required: true } as const;
const FLAG = { type: 'boolean' } as const;
const FILE = { type: 'uri' } as const;
const FILES = { type: 'uris' } as const;
const NEEDED_FILE = { type: 'uri', required: true } as const;
const NUMBER = { type: 'number' } as const;
const INTEGER = { type: 'integer' } as const;
const oneOf = (...values: string[]) => ({ type: 'string', enum: values }) as const;

const RATIOS = oneOf('1:1', '16:9', '21:9', '3:2', '2:3', '4:5', '5:4', '3:4', '4:3', '9:16', '9:21');
const SAME_OR_RATIO = oneOf('match_input_image', ...RATIOS.enum);
const FORMATS = oneOf('webp', 'jpg', 'png');
const JPG_PNG = oneOf('jpg', 'png');

export const MEDIA_MODELS: Readonly<Record<string, Schema>> = {
  'black-forest-labs/flux-schnell': {
    prompt: NEEDED,
    aspect_ratio: RATIOS,
    num_outputs: { type: 'integer', min: 1, max: 4 },
    num_inference_steps: { type: 'integer', min: 1, max: 4 },
    seed: INTEGER,
    output_format: FORMATS,
    disable_safety_checker: FLAG,
    go_fast: FLAG,
  },
  'black-forest-labs/flux-1.1-pro': {
    prompt: NEEDED,
    aspect_ratio: oneOf('custom', '1:1', '16:9', '3:2', '2:3', '4:5', '5:4', '9:16', '3:4', '4:3'),
    width: { type: 'integer', min: 256, max: 1_440 },
    height: { type: 'integer', min: 256, max: 1_440 },
    safety_tolerance: { type: 'integer', min: 1, max: 6 },
    seed: INTEGER,
    output_format: FORMATS,
    prompt_upsampling: FLAG,
  },
  'black-forest-labs/flux-kontext-pro': {
    prompt: NEEDED,
    input_image: FILE,
    aspect_ratio: SAME_OR_RATIO,
    seed: INTEGER,
    output_format: JPG_PNG,
    safety_tolerance: { type: 'integer', min: 0, max: 6 },
  },
  'google/nano-banana-pro': {
    prompt: NEEDED,
    image_input: FILES,
    aspect_ratio: SAME_OR_RATIO,
    resolution: oneOf('1K', '2K', '4K'),
    output_format: JPG_PNG,
    safety_filter_level: oneOf('block_low_and_above', 'block_medium_and_above', 'block_only_high'),
  },
  '851-labs/background-remover': {
    image: NEEDED_FILE,
    format: JPG_PNG,
    background_type: TEXT,
    reverse: FLAG,
    threshold: NUMBER,
  },
  'nightmareai/real-esrgan': {
    image: NEEDED_FILE,
    scale: { type: 'number', min: 0, max: 10 },
    face_enhance: FLAG,
  },
  'topazlabs/image-upscale': {
    image: NEEDED_FILE,
    upscale_factor: oneOf('None', '2x', '4x', '6x'),
    output_format: JPG_PNG,
  },
  'openai/whisper': {
    audio: NEEDED_FILE,
    language: TEXT,
    transcription: oneOf('plain text', 'srt', 'vtt'),
    translate: FLAG,
  },
  'vaibhavs10/incredibly-fast-whisper': {
    audio: NEEDED_FILE,
    task: oneOf('transcribe', 'translate'),
    language: oneOf('None', 'english', 'german'),
    timestamp: oneOf('chunk', 'word'),
    batch_size: INTEGER,
  },
  'minimax/speech-02-hd': {
    text: NEEDED,
    voice_id: TEXT,
    speed: { type: 'number', min: 0.5, max: 2 },
    audio_format: oneOf('mp3', 'wav', 'flac', 'pcm'),
    sample_rate: INTEGER,
    language_boost: TEXT,
  },
  'resemble-ai/chatterbox': { prompt: NEEDED, audio_prompt: FILE, temperature: NUMBER, seed: INTEGER },
};
