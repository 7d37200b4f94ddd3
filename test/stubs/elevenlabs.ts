/**
 * Stand-in for the ElevenLabs API, built from its published OpenAPI description (POST /v1/speech-to-speech/{voice_id}
 * and …/stream, POST /v1/text-to-speech/{voice_id} and …/stream, POST /v1/speech-to-text, POST /v1/voices/add, POST
 * /v1/music, POST /v1/sound-generation, GET /v1/voices, GET /v1/voices/{voice_id}) in
 * github.com/elevenlabs/elevenlabs-docs, fern/apis/api, and the types of its SDK 2.73. Further sources: its pages on
 * errors, concurrency and models, and its music quickstart ("Copyrighted material": `detail.data.prompt_suggestion`).
 * Tests first use it with the service's own SDK, so that it does not mirror our adapter.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { audioOf } from './elevenlabsAudio.ts';
import { handled, misbehave, type StubBehaviour } from './elevenlabsFaults.ts';
import { checkTranscript, checkVoice, type StubForm, takeForm } from './elevenlabsForms.ts';
import {
  type Accepted,
  type AcceptedConversion,
  type AcceptedGeneration,
  checkOrder,
  type Operation,
  type Refusal,
  type StubOrder,
} from './elevenlabsRules.ts';

export interface ElevenLabsStub {
  baseUrl: string;
  apiKey: string;
  /** Accepted conversions, whatever became of the reply. */
  accepted: AcceptedConversion[];
  /** Accepted orders of speech, music and sounds from text. */
  generated: AcceptedGeneration[];
  /** Ordered transcripts and voices. */
  forms: StubForm[];
  /** Faults of the next orders, one each. */
  next: StubBehaviour[];
  settings: StubSettings;
  /** Received orders, whatever became of them. */
  asked(): number;
  /** Bytes of bodies written so far. */
  written(): number;
  close(): Promise<void>;
}

interface StubSettings {
  conversion: Promise<void>;
  maximumConcurrent: number;
  systemBusy: boolean;
  quotaLeftSeconds: number;
  /** `legacy` names errors by `detail.status` alone. */
  errors: 'current' | 'legacy';
}

const STUB_VOICES = [
  { voice_id: '9BWtsMINqrJLrRacOk9x', name: 'Aria', category: 'premade' },
  { voice_id: 'CwhRBWXzGAHq8TQ4Fs17', name: 'Roger', category: 'premade' },
  { voice_id: 'JBFqnCBsd6RMkjVDRZzb', name: 'George', category: 'premade' },
  { voice_id: 'nPczCjzI2devNBz1zQrb', name: 'Brian', category: 'premade' },
  { voice_id: '21m00Tcm4TlvDq8ikWAM', name: 'Rachel', category: 'premade' },
  { voice_id: 'ownVoice000000000001', name: 'Cloned', category: 'cloned' },
];

/** Status and type of each error, by its name in the service. */
const ERRORS = {
  invalid_api_key: { status: 401, type: 'authentication_error' },
  quota_exceeded: { status: 401, type: 'authentication_error' },
  voice_not_found: { status: 404, type: 'not_found' },
  model_not_found: { status: 400, type: 'validation_error' },
  output_format_not_allowed: { status: 403, type: 'authorization_error' },
  max_character_limit_exceeded: { status: 400, type: 'validation_error' },
  unsupported_language: { status: 400, type: 'validation_error' },
  invalid_voice_settings: { status: 400, type: 'validation_error' },
  bad_prompt: { status: 400, type: 'validation_error' },
  bad_composition_plan: { status: 400, type: 'validation_error' },
  too_many_concurrent_requests: { status: 429, type: 'rate_limit_error' },
  concurrent_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  system_busy: { status: 429, type: 'rate_limit_error' },
} as const;
/** Errors named only in `status`. Their `code` is the error class. */
const UNSPECIFIC = new Set<keyof typeof ERRORS>(['bad_prompt', 'bad_composition_plan']);

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
  generated: AcceptedGeneration[] = [];
  forms: StubForm[] = [];
  next: StubBehaviour[] = [];
  settings: StubSettings = {
    conversion: Promise.resolve(),
    maximumConcurrent: 5,
    systemBusy: false,
    quotaLeftSeconds: 1e9,
    errors: 'current',
  };
  close: () => Promise<void> = async () => undefined;
  private running = 0;
  private bytes = 0;
  private requests = 0;
  private orders = 0;

  asked(): number {
    return this.orders;
  }

  written(): number {
    return this.bytes;
  }

  async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://stub');
    this.requests += 1;
    response.setHeader('request-id', `req-${this.requests}`);
    const target = targetOf(url.pathname);
    const form = FORMS[url.pathname];
    const isOrder = request.method === 'POST' && (target !== undefined || form !== undefined);
    if (isOrder) this.orders += 1;
    const behaviour = isOrder ? this.next.shift() : undefined;
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
    const type = request.headers['content-type'] ?? '';
    if (isOrder && form) {
      const taken = await takeForm(url.pathname, { body, type, request, response });
      this.forms.push(taken);
      if (behaviour) return misbehave(response, behaviour, count);
      const { status, body: answer } = form(taken);
      return send(response, status, answer);
    }
    if (request.method !== 'POST' || !target) return send(response, 404, { detail: 'Not Found' });
    return this.convert(response, { ...target, url, type, body, behaviour, count });
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

  private async convert(response: ServerResponse, order: StubOrder): Promise<void> {
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

  private async accept(response: ServerResponse, order: StubOrder): Promise<void> {
    if (order.voiceId !== undefined && !STUB_VOICES.some((voice) => voice.voice_id === order.voiceId)) {
      const words = `A voice with the voice_id ${order.voiceId} was not found.`;
      return this.fail(response, 'voice_not_found', words);
    }
    const checked = await checkOrder(order);
    if ('invalid' in checked) return send(response, 422, { detail: checked.invalid });
    if ('refused' in checked) {
      const { code, message, data } = checked.refused;
      return this.fail(response, code, message, data);
    }
    if (checked.seconds > this.settings.quotaLeftSeconds) {
      return this.fail(response, 'quota_exceeded', 'This request exceeds your quota.');
    }
    this.settings.quotaLeftSeconds -= checked.seconds;
    this.take(checked.record);
    await this.settings.conversion;
    if (order.behaviour) return misbehave(response, order.behaviour, order.count);
    const { type, audio } = audioOf(checked.outputFormat, checked.seconds);
    response.writeHead(200, { 'content-type': type });
    order.count(audio.length);
    response.end(audio);
  }

  private take(record: Accepted['record']): void {
    if ('operation' in record) this.generated.push(record);
    else this.accepted.push(record);
  }

  private fail(
    response: ServerResponse,
    status: Refusal['code'] | keyof typeof ERRORS,
    message: string,
    data?: object,
  ): void {
    const { status: httpStatus, type } = ERRORS[status];
    const code = UNSPECIFIC.has(status) ? 'bad_request' : status;
    const request_id = String(response.getHeader('request-id'));
    const legacy = { status, message, ...(data && { data }) };
    const current = { type, code, request_id, ...legacy };
    send(response, httpStatus, { detail: this.settings.errors === 'legacy' ? legacy : current });
  }
}

const FORMS: Readonly<Record<string, (form: StubForm) => { status: number; body: unknown }>> = {
  '/v1/speech-to-text': checkTranscript,
  '/v1/voices/add': checkVoice,
};
const WITH_VOICE = /^\/v1\/(speech-to-speech|text-to-speech)\/([^/]+)(\/stream)?$/;
const WITHOUT_VOICE: Readonly<Record<string, Operation>> = {
  '/v1/music': 'music',
  '/v1/sound-generation': 'sound-generation',
};

function targetOf(path: string): Pick<StubOrder, 'operation' | 'voiceId' | 'streamed'> | undefined {
  const [, operation, voiceId = '', stream] = WITH_VOICE.exec(path) ?? [];
  if (operation === 'speech-to-speech' || operation === 'text-to-speech') {
    return { operation, voiceId: decodeURIComponent(voiceId), streamed: stream !== undefined };
  }
  const plain = WITHOUT_VOICE[path];
  return plain && { operation: plain, voiceId: undefined, streamed: false };
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
