/**
 * Stand-in for the media operations of OpenAI's API (POST /v1/images/generations, /v1/images/edits,
 * /v1/audio/transcriptions, /v1/audio/speech), built from its API reference and the types of its SDK 7.57. Models named
 * `grok-…` follow xAI's guide to images. Tests first use it with the service's own SDK.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { silentMp3, testWav } from './elevenlabsAudio.ts';
import { handled, misbehave, type StubBehaviour } from './elevenlabsFaults.ts';
import { CHECKS, type MediaCall, type MediaRefusal } from './openaiMediaRules.ts';

export interface OpenAiMediaStub {
  /** With `/v1`. */
  baseUrl: string;
  apiKey: string;
  models: string[];
  received: MediaCall[];
  /** Faults of the next calls, one each. */
  next: StubBehaviour[];
  /** Responds with URLs, as retired models do by default. */
  answersUrls: boolean;
  /** Pause between pieces of speech. */
  pieceMs: number;
  /** Bytes that faults of a gigabyte have written. */
  writtenBytes(): number;
  close(): Promise<void>;
}

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==';
export const STUB_PNG = Buffer.from(PNG, 'base64');

export const STUB_WORDS = [
  { word: 'Hello', start: 0, end: 0.42 },
  { word: 'there', start: 0.42, end: 0.9 },
];
const STUB_TEXT = 'Hello there.';

export async function startOpenAiMediaStub(): Promise<OpenAiMediaStub> {
  const stub = new Stub();
  const server = createServer((request, response) => {
    stub.route(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stub.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  stub.close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return stub;
}

class Stub implements OpenAiMediaStub {
  baseUrl = '';
  apiKey = 'stub-key';
  models = [
    ...['gpt-image-2', 'gpt-image-1.5', 'dall-e-3', 'grok-imagine-image', 'open-diffusion'],
    ...['whisper-1', 'gpt-4o-transcribe', 'open-whisper', 'tts-1', 'gpt-4o-mini-tts', 'open-voice'],
  ];
  received: MediaCall[] = [];
  next: StubBehaviour[] = [];
  answersUrls = false;
  pieceMs = 0;
  close: () => Promise<void> = async () => undefined;
  private bytes = 0;

  writtenBytes = () => this.bytes;

  async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') return this.picture(request, response);
    const behaviour = this.next.shift();
    if (behaviour?.kind === 'destroy-at-once') return void request.socket.destroy();
    const call = await takeCall(request);
    this.received.push(call);
    response.once('close', () => {
      call.aborted = !response.writableFinished;
    });
    response.setHeader('x-request-id', `req_${this.received.length}`);
    const count = (size: number) => {
      this.bytes += size;
    };
    if (behaviour && !handled(behaviour)) return misbehave(response, behaviour, count);
    const refusal = this.refusal(call);
    if (refusal !== undefined) return sendError(response, refusal);
    if (behaviour) return misbehave(response, behaviour, count);
    return this.answer(call, response);
  }

  private refusal(call: MediaCall): MediaRefusal | undefined {
    if (call.headers.authorization !== `Bearer ${this.apiKey}`) {
      const message = 'Incorrect API key provided: stub-****.';
      return { status: 401, type: 'invalid_request_error', code: 'invalid_api_key', message };
    }
    const { model } = call.fields;
    if (!this.models.includes(String(model))) {
      const message = `The model '${model}' does not exist.`;
      return { status: 404, type: 'invalid_request_error', code: 'model_not_found', message };
    }
    const check = CHECKS[call.path];
    const message = `Invalid URL (POST ${call.path})`;
    return check ? check(call) : { status: 404, type: 'invalid_request_error', code: null, message };
  }

  private answer(call: MediaCall, response: ServerResponse): Promise<void> | void {
    const { fields } = call;
    if (call.path === '/v1/audio/transcriptions') return send(response, 200, transcriptOf(fields));
    if (call.path === '/v1/audio/speech') return this.speak(String(fields.response_format ?? 'mp3'), response);
    const asked = fields.response_format === 'b64_json';
    const urls = this.answersUrls && !asked;
    const picture = urls ? { url: `${new URL(this.baseUrl).origin}/files/1.png` } : { b64_json: PNG };
    const data = Array.from({ length: Number(fields.n ?? 1) }, () => picture);
    send(response, 200, { created: 1_700_000_000, data, usage: { total_tokens: 100 } });
  }

  private async speak(format: string, response: ServerResponse): Promise<void> {
    const { type, audio } = speechOf(format);
    response.writeHead(200, { 'content-type': type });
    for (let at = 0; at < audio.length && !response.destroyed; at += 1_000) {
      response.write(audio.subarray(at, at + 1_000));
      await new Promise((resolve) => setTimeout(resolve, this.pieceMs));
    }
    response.end();
  }

  private picture(request: IncomingMessage, response: ServerResponse): void {
    const known = request.url === '/files/1.png' && request.headers.authorization === `Bearer ${this.apiKey}`;
    if (!known) {
      send(response, 404, {});
      return;
    }
    response.writeHead(200, { 'content-type': 'image/png' });
    response.end(STUB_PNG);
  }
}

async function takeCall(request: IncomingMessage): Promise<MediaCall> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const body = Buffer.concat(pieces);
  const type = request.headers['content-type'] ?? '';
  const isForm = type.startsWith('multipart/');
  const call: MediaCall = {
    ...{ path: request.url ?? '', headers: request.headers, isForm, aborted: false, files: [] },
    fields: isForm ? {} : JSON.parse(body.toString('utf8')),
  };
  if (isForm) await readForm(call, new Response(body, { headers: { 'content-type': type } }));
  return call;
}

async function readForm(call: MediaCall, body: Response): Promise<void> {
  const form = await body.formData();
  for (const name of new Set(form.keys())) {
    const values = form.getAll(name);
    const texts = values.filter((value) => typeof value === 'string');
    if (texts.length > 0) call.fields[name] = texts.length === 1 ? texts[0] : texts;
    for (const value of values) {
      if (typeof value === 'string') continue;
      call.files.push({ name, filename: value.name, type: value.type, bytes: value.size });
    }
  }
}

function transcriptOf(fields: MediaCall['fields']): unknown {
  if (fields.response_format !== 'verbose_json') return { text: STUB_TEXT, usage: { type: 'duration', seconds: 1 } };
  const times = [fields['timestamp_granularities[]'] ?? 'segment'].flat();
  const segment = { id: 0, seek: 0, start: 0, end: 0.9, text: STUB_TEXT, tokens: [1], temperature: 0 };
  return {
    ...{ task: 'transcribe', language: 'english', duration: 0.9, text: STUB_TEXT },
    ...(times.includes('word') && { words: STUB_WORDS }),
    ...(times.includes('segment') && { segments: [{ ...segment, avg_logprob: -0.1, no_speech_prob: 0 }] }),
  };
}

/** Audio of a format. Formats that need a tool only have a valid beginning. */
function speechOf(format: string): { type: string; audio: Buffer } {
  const like = (head: Buffer) => Buffer.concat([head, Buffer.alloc(3_000, 1)]);
  switch (format) {
    case 'wav':
      return { type: 'audio/wav', audio: testWav(1) };
    case 'pcm':
      return { type: 'audio/pcm', audio: testWav(1).subarray(44) };
    case 'opus':
      return { type: 'audio/opus', audio: like(Buffer.from('OggS')) };
    case 'flac':
      return { type: 'audio/flac', audio: like(Buffer.from('fLaC')) };
    case 'aac':
      return { type: 'audio/aac', audio: like(Buffer.from([0xff, 0xf1, 0x50, 0x80])) };
    default:
      return { type: 'audio/mpeg', audio: silentMp3(1) };
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function sendError(response: ServerResponse, { status, message, type, code }: MediaRefusal): void {
  send(response, status, { error: { message, type, param: null, code } });
}
