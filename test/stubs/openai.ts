/**
 * Stand-in for OpenAI's API, built from its published description: POST /v1/chat/completions (whole and streamed), POST
 * /v1/embeddings, GET /v1/models, and its page on errors. Tests first use it with the service's own SDK. `next` has the
 * faults of the next requests, one script each.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, chunkFrames, completionOf, planAnswer } from './openaiAnswer.ts';
import { type ChatBody, checkChat, type Invalid } from './openaiRules.ts';
import { type ChatScript, type Frame, toTokens } from './openaiScript.ts';

interface ReceivedCall {
  path: string;
  headers: IncomingMessage['headers'];
  body: ChatBody;
  /** Tokens of text, reasoning and calls that were written to the connection. */
  sentTokens: number;
  sentFrames: number;
  /** The client closed the connection before the answer ended. */
  aborted: boolean;
  /** Number of the connection. */
  connection: number;
}

export interface OpenAiStub {
  /** With `/v1`. */
  baseUrl: string;
  apiKey: string | undefined;
  models: string[];
  received: ReceivedCall[];
  /** Scripts of the next requests, one each, then `otherwise`. */
  next: ChatScript[];
  otherwise: ChatScript;
  /** Told of each answer that falls silent for ever. */
  onHang: (response: ServerResponse) => void;
  /** Requests in progress. */
  running(): number;
  mostRunning(): number;
  /** Closes idle connections, as a service does after a while. */
  closeResting(): void;
  close(): Promise<void>;
}

export async function startOpenAiStub(): Promise<OpenAiStub> {
  const stub = new Stub();
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    stub.route(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 4_096, resolve));
  stub.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  stub.closeResting = () => server.closeIdleConnections();
  stub.close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return stub;
}

class Stub implements OpenAiStub {
  baseUrl = '';
  apiKey: string | undefined = 'stub-key';
  models = ['gpt-stub', 'embed-stub'];
  received: ReceivedCall[] = [];
  next: ChatScript[] = [];
  otherwise: ChatScript = {};
  onHang: (response: ServerResponse) => void = () => undefined;
  closeResting: () => void = () => undefined;
  close: () => Promise<void> = async () => undefined;
  private now = 0;
  private most = 0;
  private connections = new WeakMap<object, number>();
  private opened = 0;

  running = () => this.now;
  mostRunning = () => this.most;

  async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const script = request.method === 'POST' ? (this.next.shift() ?? this.otherwise) : {};
    if (script.lost === 'unread') return void request.socket.destroy();
    this.now += 1;
    this.most = Math.max(this.most, this.now);
    response.once('close', () => {
      this.now -= 1;
    });
    const call = await this.take(request);
    response.once('close', () => {
      call.aborted = !response.writableFinished;
    });
    if (request.method === 'POST') this.received.push(call);
    response.setHeader('x-request-id', `req_${this.received.length}`);
    if (script.lost === 'accepted') return void request.socket.destroy();
    if (script.hang === 'head') return this.onHang(response);
    if (script.delayMs !== undefined) await sleep(script.delayMs);
    await script.delay;
    const refusal = this.refusal(call, script);
    if (refusal !== undefined) return sendError(response, refusal);
    await this.answer(call, script, response);
  }

  private async take(request: IncomingMessage): Promise<ReceivedCall> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString('utf8');
    let connection = this.connections.get(request.socket);
    if (connection === undefined) {
      this.opened += 1;
      connection = this.opened;
      this.connections.set(request.socket, connection);
    }
    return {
      path: request.url ?? '',
      headers: request.headers,
      body: (text === '' ? {} : JSON.parse(text)) as ChatBody,
      sentTokens: 0,
      sentFrames: 0,
      aborted: false,
      connection,
    };
  }

  /** Checks of the service. A script with a status or a body precedes them. */
  private refusal({ headers, body, path }: ReceivedCall, script: ChatScript): Invalid | undefined {
    if (script.status !== undefined || script.body !== undefined || script.raw !== undefined) return undefined;
    if (this.apiKey !== undefined && headers.authorization !== `Bearer ${this.apiKey}`) {
      const message = 'Incorrect API key provided: stub-****.';
      return { status: 401, type: 'invalid_request_error', code: 'invalid_api_key', message };
    }
    if (path === '/v1/models') return undefined;
    if (typeof body.model === 'string' && !this.models.includes(body.model)) {
      const message = `The model \`${body.model}\` does not exist or you do not have access to it.`;
      return { status: 404, type: 'invalid_request_error', code: 'model_not_found', message };
    }
    return path === '/v1/chat/completions' ? checkChat(body) : undefined;
  }

  private async answer(call: ReceivedCall, script: ChatScript, response: ServerResponse): Promise<void> {
    if (script.raw !== undefined) return this.sendRaw(call, script.raw, { script, response });
    if (script.body !== undefined || (script.status ?? 200) !== 200) return sendBody(script, response);
    for (const [name, value] of Object.entries(script.headers ?? {})) response.setHeader(name, value);
    if (call.path === '/v1/models') {
      return sendJson(response, 200, {
        object: 'list',
        data: this.models.map((id) => ({ id, object: 'model' })),
      });
    }
    if (call.path === '/v1/embeddings') return sendJson(response, 200, embeddingsOf(call.body));
    const answer = planAnswer(call.body, script);
    if (call.body.stream !== true) {
      call.sentTokens = answer.tokens;
      return sendJson(response, 200, completionOf(call.body, answer, script));
    }
    return this.sendFrames(call, answer, { script, response });
  }

  private async sendRaw(call: ReceivedCall, raw: readonly (string | Buffer)[], { script, response }: Sending) {
    response.writeHead(script.status ?? 200, { 'content-type': 'text/event-stream', ...script.headers });
    for (const piece of raw) {
      response.write(piece);
      call.sentFrames += 1;
      await sleep(script.pauseMs ?? 5);
    }
    if (script.cutAfterFrames !== undefined) return cut(response);
    response.end();
  }

  private async sendFrames(call: ReceivedCall, answer: Answer, { script, response }: Sending): Promise<void> {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...script.headers });
    response.flushHeaders();
    for (const { frame, tokens } of chunkFrames(call.body, answer, script)) {
      if (script.cutAfterFrames === call.sentFrames) return cut(response);
      if (script.endAfterFrames === call.sentFrames) return void response.end();
      if (script.hang === call.sentFrames) return this.onHang(response);
      if (response.destroyed) return;
      await writeFrame(response, frame, script);
      call.sentFrames += 1;
      call.sentTokens += tokens;
      if (script.pauseMs !== undefined) await sleep(script.pauseMs);
      await script.pause?.(call.sentTokens);
    }
    if (script.cutAfterFrames === call.sentFrames) return cut(response);
    if (script.endAfterFrames === undefined && script.withoutDone !== true) {
      await writeFrame(response, '[DONE]', script);
    }
    response.end();
  }
}

interface Sending {
  script: ChatScript;
  response: ServerResponse;
}

async function writeFrame(response: ServerResponse, frame: Frame, script: ChatScript): Promise<void> {
  const data = typeof frame === 'string' ? frame : JSON.stringify(frame);
  const bytes = Buffer.from(script.oddFraming ? `: still here\r\ndata:${data}\r\n\r\n` : `data: ${data}\n\n`);
  const size = script.pieceBytes ?? bytes.length;
  for (let at = 0; at < bytes.length; at += size) {
    response.write(bytes.subarray(at, at + size));
    if (script.pieceBytes !== undefined) await sleep(0);
  }
}

/** Waits so that written bytes are sent first. */
async function cut(response: ServerResponse): Promise<void> {
  await sleep(10);
  response.destroy();
}

function sendBody({ status = 200, headers, body }: ChatScript, response: ServerResponse): void {
  const plain = typeof body === 'string' || Buffer.isBuffer(body);
  const page = typeof body === 'string' && body.startsWith('<');
  const type = page ? 'text/html' : 'application/json';
  response.writeHead(status, { 'content-type': type, ...headers });
  response.end(plain ? body : JSON.stringify(body ?? {}));
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function sendError(response: ServerResponse, { status, message, type, code, param = null }: Invalid): void {
  sendJson(response, status, { error: { message, type, param, code } });
}

/** Embeds each input's length and index, so that a wrong order shows. */
function embeddingsOf({ model, input, dimensions = 4, encoding_format: format }: ChatBody) {
  const inputs = typeof input === 'string' ? [input] : (input ?? []);
  const data = inputs.map((text, index) => {
    const vector = Float32Array.from({ length: dimensions }, (_, at) => (at === 0 ? text.length : index + 0.5));
    const embedding = format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector];
    return { object: 'embedding', index, embedding };
  });
  const prompt_tokens = inputs.reduce((sum, text) => sum + toTokens(text).length, 0);
  return { object: 'list', model, data, usage: { prompt_tokens, total_tokens: prompt_tokens } };
}
