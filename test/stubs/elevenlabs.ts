/**
 * A stand-in for the ElevenLabs API, built from its published OpenAPI description (POST /v1/speech-to-speech/{voice_id}
 * and …/stream, GET /v1/voices, GET /v1/voices/{voice_id}), its page on errors and its page on concurrency. The tests
 * exercise it with the service's own SDK first, so that it is not a mirror of our adapter.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentMp3, testWav } from './elevenlabsAudio.ts';
import { handled, misbehave, type StubBehaviour } from './elevenlabsFaults.ts';

export interface AcceptedConversion {
  voiceId: string;
  modelId: string;
  seed: number | undefined;
  removeBackgroundNoise: boolean;
  fileFormat: string;
  outputFormat: string;
  audioBytes: number;
  audioType: string;
  streamed: boolean;
}

export interface ElevenLabsStub {
  baseUrl: string;
  apiKey: string;
  /** Conversions that the service took in, whatever became of the reply. */
  accepted: AcceptedConversion[];
  /** How the next conversions misbehave, one each. */
  next: StubBehaviour[];
  settings: StubSettings;
  /** Bytes of bodies written so far. */
  written(): number;
  close(): Promise<void>;
}

export interface StubSettings {
  conversionMs: number;
  maximumConcurrent: number;
  systemBusy: boolean;
  quotaLeftSeconds: number;
  /** `legacy` names errors by `detail.status` alone. */
  errors: 'current' | 'legacy';
}

export const STUB_VOICES = [
  { voice_id: '9BWtsMINqrJLrRacOk9x', name: 'Aria', category: 'premade' },
  { voice_id: 'CwhRBWXzGAHq8TQ4Fs17', name: 'Roger', category: 'premade' },
  { voice_id: 'JBFqnCBsd6RMkjVDRZzb', name: 'George', category: 'premade' },
  { voice_id: 'nPczCjzI2devNBz1zQrb', name: 'Brian', category: 'premade' },
  { voice_id: 'ownVoice000000000001', name: 'Cloned', category: 'cloned' },
];

/** Status and type of each error that the stub answers, by the service's name for it. */
const ERRORS = {
  invalid_api_key: { status: 401, type: 'authentication_error' },
  quota_exceeded: { status: 401, type: 'authentication_error' },
  voice_not_found: { status: 404, type: 'not_found' },
  model_not_found: { status: 400, type: 'validation_error' },
  too_many_concurrent_requests: { status: 429, type: 'rate_limit_error' },
  concurrent_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  system_busy: { status: 429, type: 'rate_limit_error' },
} as const;
const MODELS = new Set(['eleven_multilingual_sts_v2', 'eleven_english_sts_v2']);
const OUTPUT_FORMAT =
  /^(mp3_(22050_32|24000_48|44100_(32|64|96|128|192))|wav_(8000|16000|22050|24000|32000|44100|48000))$/;

export async function startElevenLabsStub(): Promise<ElevenLabsStub> {
  const stub = new Stub();
  const server = createServer((request, response) => {
    stub.route(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  stub.baseUrl = `http://127.0.0.1:${port}`;
  stub.close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return stub;
}

class Stub implements ElevenLabsStub {
  baseUrl = '';
  apiKey = 'stub-key';
  accepted: AcceptedConversion[] = [];
  next: StubBehaviour[] = [];
  settings: StubSettings = {
    conversionMs: 0,
    maximumConcurrent: 5,
    systemBusy: false,
    quotaLeftSeconds: 1e9,
    errors: 'current',
  };
  close: () => Promise<void> = async () => undefined;
  private running = 0;
  private bytes = 0;
  private requests = 0;

  written(): number {
    return this.bytes;
  }

  async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://stub');
    this.requests += 1;
    response.setHeader('request-id', `req-${this.requests}`);
    const behaviour = url.pathname.startsWith('/v1/speech-to-speech/') ? this.next.shift() : undefined;
    const count = (size: number) => {
      this.bytes += size;
    };
    if (behaviour?.kind === 'destroy-at-once') return void request.socket.destroy();
    const body = await readBody(request);
    if (behaviour && !handled(behaviour)) return misbehave(response, behaviour, count);
    if (request.headers['xi-api-key'] !== this.apiKey) {
      return this.fail(response, 'invalid_api_key', 'Invalid API key');
    }
    if (request.method === 'GET') return this.voices(response, url.pathname);
    const match = /^\/v1\/speech-to-speech\/([^/]+)(\/stream)?$/.exec(url.pathname);
    if (request.method !== 'POST' || !match) return send(response, 404, { detail: 'Not Found' });
    const order = { voiceId: decodeURIComponent(match[1] ?? ''), streamed: match[2] !== undefined, url };
    return this.convert(response, {
      ...order,
      type: request.headers['content-type'] ?? '',
      body,
      behaviour,
      count,
    });
  }

  private voices(response: ServerResponse, path: string): void {
    if (path === '/v1/voices') {
      send(response, 200, { voices: STUB_VOICES });
      return;
    }
    const id = /^\/v1\/voices\/([^/]+)$/.exec(path)?.[1];
    const voice = STUB_VOICES.find((entry) => entry.voice_id === id);
    if (voice) send(response, 200, voice);
    else this.fail(response, 'voice_not_found', `A voice with the voice_id ${id} was not found.`);
  }

  private async convert(response: ServerResponse, order: Conversion): Promise<void> {
    response.setHeader('current-concurrent-requests', String(this.running + 1));
    response.setHeader('maximum-concurrent-requests', String(this.settings.maximumConcurrent));
    if (this.settings.systemBusy) {
      return this.fail(response, 'system_busy', 'We are experiencing heavy traffic.');
    }
    if (this.running >= this.settings.maximumConcurrent) return this.tooMany(response);
    this.running += 1;
    try {
      await this.accept(response, order);
    } finally {
      this.running -= 1;
    }
  }

  private tooMany(response: ServerResponse): void {
    const legacy = this.settings.errors === 'legacy';
    const code = legacy ? 'too_many_concurrent_requests' : 'concurrent_limit_exceeded';
    this.fail(response, code, 'Too many concurrent requests for your subscription.');
  }

  private async accept(response: ServerResponse, order: Conversion): Promise<void> {
    const checked = await readConversion(order);
    if ('invalid' in checked) return send(response, 422, { detail: checked.invalid });
    if (!STUB_VOICES.some((voice) => voice.voice_id === order.voiceId)) {
      const words = `A voice with the voice_id ${order.voiceId} was not found.`;
      return this.fail(response, 'voice_not_found', words);
    }
    if (!MODELS.has(checked.modelId)) {
      return this.fail(response, 'model_not_found', 'The model was not found.');
    }
    const seconds = Math.max(1, Math.round(checked.audioBytes / 16_000));
    if (seconds > this.settings.quotaLeftSeconds) {
      return this.fail(response, 'quota_exceeded', 'This request exceeds your quota.');
    }
    this.settings.quotaLeftSeconds -= seconds;
    this.accepted.push(checked);
    await sleep(this.settings.conversionMs);
    if (order.behaviour) return misbehave(response, order.behaviour, order.count);
    const wav = checked.outputFormat.startsWith('wav_');
    const audio = wav ? testWav(seconds) : silentMp3(seconds);
    response.writeHead(200, { 'content-type': wav ? 'audio/wav' : 'audio/mpeg' });
    order.count(audio.length);
    response.end(audio);
  }

  private fail(response: ServerResponse, code: keyof typeof ERRORS, message: string): void {
    const { status, type } = ERRORS[code];
    const request_id = String(response.getHeader('request-id'));
    const legacy = { status: code, message };
    const current = { type, code, message, status: code, request_id };
    send(response, status, { detail: this.settings.errors === 'legacy' ? legacy : current });
  }
}

interface Conversion {
  voiceId: string;
  streamed: boolean;
  url: URL;
  type: string;
  body: Buffer<ArrayBuffer>;
  behaviour: StubBehaviour | undefined;
  count: (size: number) => void;
}

interface InvalidField {
  loc: (string | number)[];
  msg: string;
  type: string;
}

/** The rules of the published request schema. */
async function readConversion(order: Conversion): Promise<AcceptedConversion | { invalid: InvalidField[] }> {
  const form = await new Response(order.body, { headers: { 'content-type': order.type } })
    .formData()
    .catch(() => new FormData());
  const text = (name: string) => {
    const value = form.get(name);
    return typeof value === 'string' ? value : undefined;
  };
  const invalid: InvalidField[] = [];
  const wrong = (name: string, msg: string) =>
    invalid.push({ loc: ['body', name], msg, type: 'value_error' });
  const audio = form.get('audio');
  if (!(audio instanceof Blob)) wrong('audio', 'Field required');
  const seed = text('seed');
  if (seed !== undefined && !(/^\d+$/.test(seed) && Number(seed) <= 4_294_967_295))
    wrong('seed', 'Invalid seed');
  const noise = text('remove_background_noise') ?? 'false';
  if (noise !== 'true' && noise !== 'false')
    wrong('remove_background_noise', 'Input should be a valid boolean');
  const fileFormat = text('file_format') ?? 'other';
  if (fileFormat !== 'other' && fileFormat !== 'pcm_s16le_16') wrong('file_format', 'Invalid format');
  const outputFormat = order.url.searchParams.get('output_format') ?? 'mp3_44100_128';
  if (!OUTPUT_FORMAT.test(outputFormat)) wrong('output_format', 'Invalid format');
  if (!(audio instanceof Blob) || invalid.length > 0) return { invalid };
  return {
    voiceId: order.voiceId,
    modelId: text('model_id') ?? 'eleven_english_sts_v2',
    seed: seed === undefined ? undefined : Number(seed),
    removeBackgroundNoise: noise === 'true',
    fileFormat,
    outputFormat,
    audioBytes: audio.size,
    audioType: audio.type,
    streamed: order.streamed,
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
