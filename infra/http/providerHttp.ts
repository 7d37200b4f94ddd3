/**
 * How adapters call the service that the operator configured. Redirects are never followed, every body has a cap and every
 * wait a deadline; a failure says whether the request can have reached the service at all.
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { Agent, type Dispatcher, request as send } from 'undici';
import { inSpan, type SpanStart } from '../telemetry/spans.ts';
import { encodeJson } from './encodeJson.ts';
import { ConnectFailure, operatorConnector } from './guardedConnector.ts';
import { type MultipartParts, multipartBody } from './multipart.ts';
import type { ResolveHost } from './resolveHost.ts';
import { BodyTooLarge, saveBody } from './saveBody.ts';
import { unpaused } from './unpaused.ts';

interface ProviderTimeouts {
  connectMs: number;
  /** From the request sent to the head of the answer. */
  firstByteMs: number;
  /** Between two pieces of the answer's body. */
  idleMs: number;
  /** The whole call, body included. */
  totalMs: number;
}

export interface ProviderHttpOptions {
  /** The service's address with an optional path, e.g. `https://api.example/v1`. */
  baseUrl: string;
  /** True: the address may be on a private network, as the operator's configuration says. */
  allowPrivateNetwork?: boolean | undefined;
  /** Sent with every call, e.g. the credential. */
  headers?: Record<string, string>;
  timeouts?: Partial<ProviderTimeouts> | undefined;
  /** Of an answer that is read whole; default 1 MB. */
  maxReplyBytes?: number;
  /** Instead of the DNS, for tests. */
  resolve?: ResolveHost;
  certificateAuthorities?: string;
}

export interface ProviderCall {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the base URL, starting with a slash. */
  path: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  json?: unknown;
  multipart?: MultipartParts;
  /** A file, or a part of one, as the whole body. */
  file?: BodyFile;
  signal?: AbortSignal;
}

export interface BodyFile {
  path: string;
  contentType: string;
  /** In bytes; all of the file when left out. `end` is the first byte that is not sent. */
  range?: { start: number; end: number };
}

export interface ProviderReply {
  status: number;
  /** Lower-case names; of a repeated header the first. */
  headers: Record<string, string>;
  body: Buffer;
}

type ProviderDownload =
  | { saved: true; status: number; headers: Record<string, string>; sizeBytes: number; sha256: string }
  /** Any status outside 200–299; nothing was written. */
  | ({ saved: false } & ProviderReply);

export interface ProviderHttp {
  /** One call whose answer, of whatever status, is read whole. */
  request(call: ProviderCall): Promise<ProviderReply>;
  /** One call whose answer, if its status is 2xx, goes to a new file. */
  download(call: ProviderCall, target: { path: string; maxBytes: number }): Promise<ProviderDownload>;
  close(): Promise<void>;
}

/** `not_sent`: certainly no byte of the request reached the service. `unknown`: it may have been accepted. */
export class ProviderHttpError extends Error {
  readonly sent: 'not_sent' | 'unknown';

  constructor(sent: 'not_sent' | 'unknown', message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'ProviderHttpError';
    this.sent = sent;
  }
}

const DEFAULT_TIMEOUTS: ProviderTimeouts = {
  connectMs: 5_000,
  firstByteMs: 120_000,
  idleMs: 60_000,
  totalMs: 600_000,
};
const MAX_REPLY_BYTES = 1024 * 1024;

export function createProviderHttp(options: ProviderHttpOptions): ProviderHttp {
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const { maxReplyBytes = MAX_REPLY_BYTES } = options;
  const agent = openAgent(options, timeouts);
  const call = (wanted: ProviderCall, maxBytes: number) =>
    dispatch(agent.compose(unpaused(maxBytes)), options, { call: wanted, totalMs: timeouts.totalMs });
  return {
    async request(wanted) {
      const response = await call(wanted, maxReplyBytes);
      return { ...head(response), body: await afterSend(() => readWhole(response.body, maxReplyBytes)) };
    },
    async download(wanted, target) {
      const response = await call(wanted, Math.max(target.maxBytes, maxReplyBytes));
      if (response.statusCode < 200 || response.statusCode > 299) {
        return {
          saved: false,
          ...head(response),
          body: await afterSend(() => readWhole(response.body, maxReplyBytes)),
        };
      }
      const saved = await afterSend(() => save(response, target));
      return { saved: true, ...head(response), ...saved };
    },
    close: () => agent.close(),
  };
}

function openAgent(options: ProviderHttpOptions, timeouts: ProviderTimeouts): Agent {
  return new Agent({
    connect: operatorConnector(options, timeouts.connectMs),
    headersTimeout: timeouts.firstByteMs,
    bodyTimeout: timeouts.idleMs,
    maxHeaderSize: 32 * 1024,
    // A connection per call: on a kept one that the service is just closing, a request is lost without anyone knowing how far it got.
    pipelining: 0,
  });
}

interface Dispatch {
  call: ProviderCall;
  totalMs: number;
}

async function dispatch(agent: Dispatcher, options: ProviderHttpOptions, { call, totalMs }: Dispatch) {
  const deadline = AbortSignal.timeout(totalMs);
  const signal = call.signal === undefined ? deadline : AbortSignal.any([call.signal, deadline]);
  if (signal.aborted) throw new ProviderHttpError('not_sent', 'stopped before it was sent', signal.reason);
  const { headers, body } = await encode(call).catch((error: unknown) => {
    throw new ProviderHttpError('not_sent', 'the request could not be prepared', error);
  });
  try {
    return await inSpan(spanOf(options.baseUrl, call.method), async (note) => {
      const response = await send(target(options.baseUrl, call), {
        dispatcher: agent,
        method: call.method,
        headers: { 'user-agent': 'Farebox', accept: '*/*', ...options.headers, ...call.headers, ...headers },
        body,
        signal,
      });
      note({ 'http.response.status_code': response.statusCode });
      return response;
    });
  } catch (error) {
    const sent = error instanceof ConnectFailure ? 'not_sent' : 'unknown';
    throw new ProviderHttpError(sent, sent === 'not_sent' ? 'not reached' : 'no answer', error);
  }
}

/** The host and no more of its address: paths and queries may say what the order says. */
export function spanOf(baseUrl: string, method: ProviderCall['method']): SpanStart {
  const address = new URL(baseUrl).hostname;
  const attributes = { 'http.request.method': method, 'server.address': address };
  return { name: `${method} ${address}`, kind: 'client', attributes };
}

function target(baseUrl: string, call: ProviderCall): string {
  const query = call.query === undefined ? '' : `?${new URLSearchParams(call.query).toString()}`;
  return `${baseUrl.replace(/\/+$/, '')}${call.path}${query}`;
}

interface EncodedBody {
  headers: Record<string, string>;
  body: string | Buffer | Readable | null;
}

async function encode(call: ProviderCall): Promise<EncodedBody> {
  if (call.multipart !== undefined) {
    const { contentType, sizeBytes, stream } = await multipartBody(call.multipart);
    return { headers: { 'content-type': contentType, 'content-length': String(sizeBytes) }, body: stream };
  }
  if (call.file !== undefined) return await fileBody(call.file);
  if (call.json === undefined) return { headers: {}, body: null };
  return { headers: { 'content-type': 'application/json' }, body: await encodeJson(call.json) };
}

/** With its length told beforehand: stores that take uploads refuse a body of unknown length. */
async function fileBody({ path, contentType, range }: BodyFile): Promise<EncodedBody> {
  const { start, end } = range ?? { start: 0, end: (await stat(path)).size };
  const headers = { 'content-type': contentType, 'content-length': String(end - start) };
  // A stream always sends the byte at `end`, so there is none of nothing.
  return { headers, body: end > start ? createReadStream(path, { start, end: end - 1 }) : '' };
}

async function afterSend<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const message = error instanceof BodyTooLarge ? 'the answer is too large' : 'the answer was cut';
    throw new ProviderHttpError('unknown', message, error);
  }
}

/** What is announced as too large is not begun with. */
async function save(response: Dispatcher.ResponseData, target: { path: string; maxBytes: number }) {
  if (Number(response.headers['content-length'] ?? 0) > target.maxBytes) {
    response.body.on('error', () => undefined).destroy();
    throw new BodyTooLarge('announced');
  }
  return await saveBody(response.body, target);
}

async function readWhole(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of body) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) throw new BodyTooLarge(`more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function head(response: Dispatcher.ResponseData): { status: number; headers: Record<string, string> } {
  return { status: response.statusCode, headers: firstOfEach(response.headers) };
}

/** Lower-case names; of a repeated header the first. */
export function firstOfEach(received: Dispatcher.ResponseData['headers']): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name in received) {
    const value = received[name];
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) headers[name.toLowerCase()] = first;
  }
  return headers;
}
