/** Rules of the stub of OpenAI's media operations, from the published request schemas. */

interface SentFile {
  name: string;
  filename: string;
  type: string;
  bytes: number;
}

export interface MediaCall {
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** A repeated form field has all its values. */
  fields: Record<string, unknown>;
  files: SentFile[];
  isForm: boolean;
  /** The client closed the connection before the answer ended. */
  aborted: boolean;
}

export interface MediaRefusal {
  status: number;
  type: string;
  code: string | null;
  message: string;
}

type Check = (call: MediaCall) => MediaRefusal | undefined;

const GENERATION = [
  ...['model', 'prompt', 'n', 'size', 'quality', 'background', 'moderation', 'output_format', 'user'],
  ...['output_compression', 'partial_images', 'stream', 'style', 'response_format', 'safety_identifier', 'svg'],
];
const EDIT = [
  ...['model', 'prompt', 'n', 'size', 'quality', 'background', 'output_format', 'user', 'response_format'],
  ...['output_compression', 'partial_images', 'stream', 'input_fidelity', 'safety_identifier', 'svg'],
];
const TRANSCRIPTION = [
  ...['model', 'language', 'prompt', 'response_format', 'temperature', 'timestamp_granularities[]'],
  ...['include[]', 'stream', 'chunking_strategy'],
];
const SPEECH = ['model', 'input', 'voice', 'instructions', 'response_format', 'speed', 'stream_format'];

const LISTED = ['1024x1024', '1536x1024', '1024x1536', 'auto'];

export const CHECKS: Readonly<Record<string, Check>> = {
  '/v1/images/generations': (call) => unknownField(call, GENERATION) ?? checkImage(call),
  '/v1/images/edits': (call) => unknownField(call, EDIT) ?? checkEdit(call),
  '/v1/audio/transcriptions': (call) => unknownField(call, TRANSCRIPTION) ?? checkTranscription(call),
  '/v1/audio/speech': (call) => unknownField(call, SPEECH) ?? checkSpeech(call),
};

/** OpenAI's own models refuse unknown fields. Other servers ignore them. */
function unknownField({ fields }: MediaCall, known: readonly string[]): MediaRefusal | undefined {
  const model = String(fields.model);
  const unknown = Object.keys(fields).find((field) => !known.includes(field));
  if (unknown === undefined || !/^(gpt|dall|whisper|tts)/.test(model)) return undefined;
  return invalid(`Unknown parameter: '${unknown}'.`, 'unknown_parameter');
}

function checkImage({ fields }: MediaCall): MediaRefusal | undefined {
  const { model, prompt, n = 1, size = 'auto', quality = 'auto', response_format: format } = fields;
  if (typeof prompt !== 'string' || prompt === '') return invalid('Missing required parameter: prompt.');
  if (prompt.includes('forbidden')) return REJECTED;
  if (Number(n) < 1 || Number(n) > 10) return invalid('Invalid n: above the maximum of 10.');
  const name = String(model);
  if (name.startsWith('grok-')) return checkGrok(fields);
  if (!name.startsWith('gpt-image')) return undefined;
  if (format !== undefined) return invalid("Unknown parameter: 'response_format'.", 'unknown_parameter');
  if (!['auto', 'low', 'medium', 'high'].includes(String(quality))) return invalid('Invalid quality.');
  const fits = name.startsWith('gpt-image-1') ? LISTED.includes(String(size)) : isBounded(String(size));
  return fits ? undefined : invalid(`Invalid size '${size}'.`, 'invalid_value');
}

function isBounded(size: string): boolean {
  if (size === 'auto') return true;
  const [width = 0, height = 0] = size.split('x').map(Number);
  const [short, long] = width < height ? [width, height] : [height, width];
  const pixels = width * height;
  const inBounds = long <= 3_840 && long <= 3 * short && pixels >= 655_360 && pixels <= 8_294_400;
  return width % 16 === 0 && height % 16 === 0 && inBounds;
}

function checkGrok(fields: MediaCall['fields']): MediaRefusal | undefined {
  if (fields.size !== undefined) return invalid('Argument not supported: size');
  const shapes = ['1:1', '3:2', '2:3', '4:3', '3:4', '16:9', '9:16', '2:1', '1:2', '20:9', '9:20'];
  const { aspect_ratio: shape, resolution } = fields;
  if (shape !== undefined && !shapes.includes(String(shape))) return invalid('Invalid aspect ratio.');
  return resolution === undefined || /^[12]k$/.test(String(resolution)) ? undefined : invalid('Invalid tier.');
}

function checkEdit(call: MediaCall): MediaRefusal | undefined {
  const grok = String(call.fields.model).startsWith('grok-');
  if (grok !== !call.isForm) return { ...invalid('Unsupported content type.'), status: 415 };
  const images = call.files.filter(({ name }) => name === 'image' || name === 'image[]');
  if (!grok && images.length === 0) return invalid("Missing required parameter: 'image'.");
  if (images.length > 16) return invalid('Too many images.');
  const wrong = images.find(({ type }) => !/^image\/(png|jpeg|webp)$/.test(type));
  if (wrong !== undefined) return invalid(`Invalid file: unsupported mimetype ('${wrong.type}').`);
  return checkImage(call);
}

const ENDINGS = /\.(flac|mp3|mp4|mpeg|mpga|m4a|ogg|wav|webm)$/;

function checkTranscription({ fields, files, isForm }: MediaCall): MediaRefusal | undefined {
  const [file] = files;
  if (!isForm || file?.name !== 'file') return invalid('file: Field required');
  if (!ENDINGS.test(file.filename)) return invalid('Unrecognized file format.');
  const { model, response_format: format = 'json', 'timestamp_granularities[]': times } = fields;
  if (/^gpt-.*transcribe/.test(String(model)) && format !== 'json') {
    return invalid(`response_format '${format}' is not compatible with model '${model}'.`);
  }
  if (times !== undefined && format !== 'verbose_json') return invalid('timestamp_granularities needs verbose_json.');
  return undefined;
}

const VOICES = ['alloy', 'ash', 'ballad', 'coral', 'echo', 'fable', 'onyx', 'nova', 'sage', 'shimmer', 'verse'];

function checkSpeech({ fields }: MediaCall): MediaRefusal | undefined {
  const { input, voice, model, response_format: format = 'mp3', speed = 1 } = fields;
  if (typeof input !== 'string' || input === '') return invalid("'input': String should have at least 1 character");
  if (input.length > 4_096)
    return invalid("'input': String should have at most 4096 characters", 'string_above_max_length');
  if (!['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'].includes(String(format))) return invalid('Invalid format.');
  if (Number(speed) < 0.25 || Number(speed) > 4) return invalid('speed: out of range');
  const own = /^(tts|gpt)/.test(String(model));
  return own && !VOICES.includes(String(voice)) ? invalid("'voice': Input should be 'alloy', 'ash'…") : undefined;
}

const REJECTED: MediaRefusal = {
  status: 400,
  type: 'image_generation_user_error',
  code: 'moderation_blocked',
  message: 'Your request was rejected by the safety system.',
};

function invalid(message: string, code: string | null = null): MediaRefusal {
  return { status: 400, type: 'invalid_request_error', code, message };
}
