/**
 * Stand-in for Anthropic's API, built from its published description: POST /v1/messages, whole and streamed, and its
 * page on errors. Tests first use it with the service's own SDK. `next` sets faults of the next requests.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkMessages, type MessagesBody } from './anthropicRules.ts';

export type Block =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> };

export interface AnthropicScript {
  status?: number;
  headers?: Record<string, string>;
  /** Replaces the message. */
  body?: unknown;
  content?: readonly Block[];
  stopReason?: string;
  usage?: Record<string, unknown>;
  /** Sends an error event of this type after so many frames. */
  errorAfterFrames?: { frames: number; type: string };
  cutAfterFrames?: number;
  pauseMs?: number;
}

export interface AnthropicStub {
  baseUrl: string;
  apiKey: string;
  received: { body: MessagesBody; headers: IncomingMessage['headers']; aborted: boolean }[];
  next: AnthropicScript[];
  otherwise: AnthropicScript;
  close(): Promise<void>;
}

const STATUS: Record<string, number> = {
  invalid_request_error: 400,
  authentication_error: 401,
  not_found_error: 404,
};
const HELLO: readonly Block[] = [{ type: 'text', text: 'Hello from the stub, in a few words.' }];

export async function startAnthropicStub(): Promise<AnthropicStub> {
  const stub: AnthropicStub = {
    baseUrl: '',
    apiKey: 'stub-key',
    received: [],
    next: [],
    otherwise: {},
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer((request, response) => {
    route(stub, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stub.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return stub;
}

async function route(stub: AnthropicStub, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const script = stub.next.shift() ?? stub.otherwise;
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const body = JSON.parse(Buffer.concat(pieces).toString('utf8')) as MessagesBody;
  const call = { body, headers: request.headers, aborted: false };
  stub.received.push(call);
  response.once('close', () => {
    call.aborted = !response.writableFinished;
  });
  response.setHeader('request-id', `req_${stub.received.length}`);
  for (const [name, value] of Object.entries(script.headers ?? {})) response.setHeader(name, value);
  if (script.status !== undefined || script.body !== undefined) {
    const page = typeof script.body === 'string';
    response.writeHead(script.status ?? 200, { 'content-type': page ? 'text/html' : 'application/json' });
    return void response.end(page ? script.body : JSON.stringify(script.body ?? {}));
  }
  const refusal =
    request.url === '/v1/messages' ? refusalOf(stub, call) : { type: 'not_found_error', message: 'Not Found' };
  if (refusal !== undefined) {
    response.writeHead(STATUS[refusal.type] ?? 400, { 'content-type': 'application/json' });
    return void response.end(
      JSON.stringify({ type: 'error', error: refusal, request_id: `req_${stub.received.length}` }),
    );
  }
  if (body.stream === true) return streamMessage(response, body, script);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(messageOf(body, script)));
}

function refusalOf(
  { apiKey }: AnthropicStub,
  { headers, body }: { headers: IncomingMessage['headers']; body: MessagesBody },
) {
  // The first is the documented header. The SDK may send the second.
  const given = headers['x-api-key'] ?? headers.authorization?.replace('Bearer ', '');
  if (given !== apiKey) return { type: 'authentication_error', message: 'invalid x-api-key' };
  const version = headers['anthropic-version'];
  if (version !== '2023-06-01' && version !== '2026-10-21') {
    return { type: 'invalid_request_error', message: 'anthropic-version: header is required' };
  }
  return checkMessages(body, version);
}

function messageOf({ model }: MessagesBody, script: AnthropicScript) {
  const { content = HELLO } = script;
  const called = content.some(({ type }) => type === 'tool_use');
  return {
    id: 'msg_stub',
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: script.stopReason ?? (called ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    usage: {
      input_tokens: 12,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 9,
      ...script.usage,
    },
  };
}

async function streamMessage(response: ServerResponse, body: MessagesBody, script: AnthropicScript): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  let frames = 0;
  for (const frame of framesOf(messageOf(body, script))) {
    if (script.cutAfterFrames === frames) {
      await sleep(10);
      return void response.destroy();
    }
    if (script.errorAfterFrames?.frames === frames) {
      write(response, {
        type: 'error',
        error: { type: script.errorAfterFrames.type, message: 'Overloaded' },
      });
      return void response.end();
    }
    write(response, frame);
    frames += 1;
    if (script.pauseMs !== undefined) await sleep(script.pauseMs);
  }
  response.end();
}

interface Frame {
  type: string;
  [field: string]: unknown;
}

function write(response: ServerResponse, frame: Frame): void {
  response.write(`event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`);
}

function* framesOf(message: ReturnType<typeof messageOf>): Generator<Frame> {
  const { content, stop_reason, stop_sequence, usage, ...head } = message;
  const begun = { ...head, content: [], stop_reason: null, stop_sequence: null };
  yield { type: 'message_start', message: { ...begun, usage: { ...usage, output_tokens: 1 } } };
  for (const [index, block] of content.entries()) {
    yield { type: 'content_block_start', index, content_block: opening(block) };
    yield { type: 'ping' };
    for (const delta of deltasOf(block)) yield { type: 'content_block_delta', index, delta };
    yield { type: 'content_block_stop', index };
  }
  yield { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage };
  yield { type: 'message_stop' };
}

function opening(block: Block): Block {
  if (block.type === 'text') return { type: 'text', text: '' };
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return block.type === 'tool_use' ? { ...block, input: {} } : block;
}

function deltasOf(block: Block): object[] {
  const pieces = (text: string) => text.match(/.{1,7}/gs) ?? [];
  switch (block.type) {
    case 'text':
      return pieces(block.text).map((text) => ({ type: 'text_delta', text }));
    case 'thinking':
      return [
        ...pieces(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature: block.signature },
      ];
    case 'tool_use': {
      const json = Object.keys(block.input).length === 0 ? '' : JSON.stringify(block.input);
      return ['', ...pieces(json)].map((partial_json) => ({ type: 'input_json_delta', partial_json }));
    }
    case 'redacted_thinking':
      return [];
  }
}
