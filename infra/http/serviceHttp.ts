/**
 * Calls to configured services. Redirects are never followed, every body has a size limit and every wait a deadline. A
 * failure says whether the request may have reached the service.
 */
import { Readable } from 'node:stream';
import { Agent } from 'undici';
import type { ProviderTimeouts } from '../../domain/providerSettings.ts';
import { providerCallsOf } from '../telemetry/counters.ts';
import { inSpan, type SpanStart } from '../telemetry/spans.ts';
import { encodeJson } from './encodeJson.ts';
import { type OperatorAddress, operatorConnector } from './guardedConnector.ts';
import { type BodyFile, fileBody, type MultipartParts, multipartBody } from './multipart.ts';
import { createPausingAgent } from './pausingAgent.ts';
import { BodyTooLarge, type SavedBody, saveBody } from './saveBody.ts';
import { type ExchangeLimits, type ServiceBody, ServiceExchange } from './serviceExchange.ts';
import { ServiceHttpError } from './serviceHttpError.ts';

export interface ServiceHttpOptions extends OperatorAddress {
  /** The service's address with an optional path, e.g. `https://api.example/v1`. */
  baseUrl: string;
  /** Sent with every call, e.g. the credential. */
  headers?: Record<string, string> | undefined;
  timeouts?: Partial<ServiceTimeouts> | undefined;
  /** Limit of one answer; default: 1 MB when read whole, 64 MB when streamed. */
  maxReplyBytes?: number;
  /** Provider entry, for metrics of running calls. Left out: they are not counted. */
  name?: string | undefined;
  /**
   * Default: a connection per call. Kept connections serve text and nodes (benches `chat`, `rpc`). When the service
   * just closes a kept one, nobody knows how far a request got: unfit for calls that must not be repeated.
   */
  keepsConnections?: boolean;
  /** For answers that are too large to keep: `post` reads them as fast as its reader. */
  pauses?: boolean;
}

interface ServiceTimeouts extends ProviderTimeouts {
  /** Deadline of the whole call with its body; for `request` and `download` only. */
  totalMs: number;
}

interface ServiceContent {
  /** Below the base URL, starting with a slash. */
  path: string;
  query?: Record<string, string> | undefined;
  /** Replace the client's headers of the same names. */
  headers?: Record<string, string>;
  /** Body, unless one of the following is given. */
  json?: unknown;
  multipart?: MultipartParts;
}

export interface ServicePost extends ServiceContent {
  /** Body as JSON text that is already written. */
  text?: string | Buffer;
  /** Headers of a customer, which never replace ours. */
  foreignHeaders?: Record<string, string> | undefined;
  /** Limit of this answer, in place of `maxReplyBytes`. */
  maxBytes?: number;
  signal: AbortSignal;
}

export interface ServiceCall extends ServiceContent {
  method: 'GET' | 'POST' | 'PUT';
  /** Body from a file or a part of it. */
  file?: BodyFile;
  signal?: AbortSignal | undefined;
}

interface ServiceHead {
  status: number;
  /** Lower-case names; of a repeated header the first. */
  headers: Record<string, string>;
}

export interface ServiceReply extends ServiceHead {
  body: ServiceBody;
}

export interface WholeReply extends ServiceHead {
  body: Buffer;
}

type ServiceDownload =
  | ({ saved: true } & ServiceHead & SavedBody)
  /** Any status outside 200–299; nothing was written. */
  | ({ saved: false } & WholeReply);

/** Every method throws ServiceHttpError. */
export interface ServiceHttp {
  /** Resolves with the head of the answer, of any status. Its body also fails with ServiceHttpError. */
  post(call: ServicePost): Promise<ServiceReply>;
  /** Reads the whole answer, of any status. */
  request(call: ServiceCall): Promise<WholeReply>;
  /** Saves an answer of status 2xx to a new file. */
  download(call: ServiceCall, target: { path: string; maxBytes: number }): Promise<ServiceDownload>;
  /** Waits for running calls. */
  close(): Promise<void>;
  /** Aborts running calls, for owners that have drained before. */
  destroy(): Promise<void>;
}

/** The first-byte limit is below the deadlines of the routes, so that a hanging service is detected and paused. */
const DEFAULT_TIMEOUTS: ServiceTimeouts = {
  connectMs: 5_000,
  firstByteMs: 120_000,
  idleMs: 60_000,
  totalMs: 600_000,
};
/** Further calls wait; as many as one process can carry. */
const MAX_CONNECTIONS = 1_024;
/** Shorter than the five seconds after which common servers close an idle connection: see `lost`. */
const KEPT_MS = 4_000;
const MAX_KEPT_MS = 60_000;
const MAX_REPLY_BYTES = 1024 * 1024;
const MAX_STREAMED_BYTES = 64 * 1024 * 1024;

export function createServiceHttp(options: ServiceHttpOptions): ServiceHttp {
  const service = openService(options);
  const { maxReplyBytes = MAX_REPLY_BYTES } = options;
  const openWhole = async (call: ServiceCall, maxBytes: number) => {
    const deadline = AbortSignal.timeout(service.timeouts.totalMs);
    const signal = call.signal === undefined ? deadline : AbortSignal.any([call.signal, deadline]);
    if (signal.aborted) throw new ServiceHttpError('stopped', 'not_sent', signal.reason);
    return await open(service, { ...call, signal }, { kind: 'whole', maxBytes });
  };
  return {
    post(call) {
      const maxBytes = call.maxBytes ?? options.maxReplyBytes ?? MAX_STREAMED_BYTES;
      return open(service, call, { kind: options.pauses ? 'paused' : 'streamed', maxBytes });
    },
    async request(call) {
      const reply = await openWhole(call, maxReplyBytes);
      return { ...reply, body: await reply.body.whole(maxReplyBytes) };
    },
    async download(call, target) {
      const reply = await openWhole(call, Math.max(target.maxBytes, maxReplyBytes));
      const { status, headers, body } = reply;
      if (isSuccess(reply)) return { saved: true, status, headers, ...(await save(reply, target)) };
      return { saved: false, status, headers, body: await body.whole(maxReplyBytes) };
    },
    close: () => service.agent.close(),
    destroy: () => service.agent.destroy(),
  };
}

export function isSuccess({ status }: { status: number }): boolean {
  return status >= 200 && status <= 299;
}

interface Service {
  agent: Pick<Agent, 'dispatch' | 'close' | 'destroy'>;
  origin: string;
  folder: string;
  headers: Record<string, string>;
  /** Headers of a call without its own. */
  jsonHeaders: Record<string, string>;
  timeouts: ServiceTimeouts;
  calls: ReturnType<typeof providerCallsOf>;
  spans: Record<ServiceCall['method'], SpanStart>;
}

const OF_JSON = { 'content-type': 'application/json' };

function openService(options: ServiceHttpOptions): Service {
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const { origin, pathname, hostname } = new URL(options.baseUrl);
  const headers = { 'user-agent': 'Farebox', accept: '*/*', ...options.headers };
  /** Only the host: paths and queries may contain parts of the order. */
  const spanOf = (method: ServiceCall['method']): SpanStart => {
    const attributes = { 'http.request.method': method, 'server.address': hostname };
    return { name: `${method} ${hostname}`, kind: 'client', attributes };
  };
  return {
    agent: openAgent(options, timeouts.connectMs),
    origin,
    folder: pathname.replace(/\/+$/, ''),
    headers,
    jsonHeaders: { ...headers, ...OF_JSON },
    timeouts,
    calls: options.name === undefined ? { queued: 0, running: 0 } : providerCallsOf(options.name),
    spans: { GET: spanOf('GET'), POST: spanOf('POST'), PUT: spanOf('PUT') },
  };
}

function openAgent(options: ServiceHttpOptions, connectMs: number): Service['agent'] {
  const connect = operatorConnector(options, connectMs);
  if (options.pauses) return createPausingAgent({ baseUrl: options.baseUrl, connect, keptMs: KEPT_MS });
  return new Agent({
    connect,
    connections: MAX_CONNECTIONS,
    pipelining: options.keepsConnections ? 1 : 0,
    keepAliveTimeout: KEPT_MS,
    keepAliveMaxTimeout: MAX_KEPT_MS,
    maxHeaderSize: 32 * 1024,
  });
}

type AnyCall = ServicePost & Partial<Pick<ServiceCall, 'method' | 'file'>>;

interface OpenReply extends ServiceHead {
  body: ServiceExchange;
}

/** Resolves with the head of the answer. */
function open(service: Service, call: AnyCall, bounds: Pick<ExchangeLimits, 'kind' | 'maxBytes'>): Promise<OpenReply> {
  const { method = 'POST' } = call;
  const limits = { ...service.timeouts, ...bounds };
  return inSpan(service.spans[method], async (note) => {
    const content = await encode(service, call);
    const exchange = dispatch(service, { method, limits, content, ...call });
    const { status, headers } = await exchange.head;
    note({ 'http.response.status_code': status });
    return { status, headers: firstOfEach(headers), body: exchange };
  });
}

interface Content {
  headers: Record<string, string>;
  body: string | Buffer | Readable | null;
}

async function encode(service: Service, call: AnyCall): Promise<Content> {
  const { multipart, file, text, json } = call;
  try {
    const streamed = multipart ? multipartBody(multipart) : file && fileBody(file);
    if (streamed) {
      const { contentType, sizeBytes, stream } = await streamed;
      const own = { 'content-type': contentType, 'content-length': String(sizeBytes) };
      // A failure of the stream fails its call; a later one must not end the process.
      return { body: stream?.on('error', () => undefined) ?? null, headers: headersOf(service, call, own) };
    }
    const body = text ?? (json === undefined ? null : await encodeJson(json));
    return { body, headers: headersOf(service, call, body === null ? {} : OF_JSON) };
  } catch (error) {
    throw new ServiceHttpError('unprepared', 'not_sent', error);
  }
}

function headersOf(
  { headers, jsonHeaders }: Service,
  call: AnyCall,
  own: Record<string, string>,
): Record<string, string> {
  if (own === OF_JSON && !call.headers && !call.foreignHeaders) return jsonHeaders;
  return { ...lowerCase(call.foreignHeaders), ...headers, ...call.headers, ...own };
}

/** Lower case, so that no header can be sent beside one of ours, least of all the credential. */
function lowerCase(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

interface ServiceDispatch extends Pick<AnyCall, 'path' | 'query' | 'signal'> {
  method: ServiceCall['method'];
  limits: ExchangeLimits;
  content: Content;
}

function dispatch({ agent, calls, origin, folder }: Service, call: ServiceDispatch): ServiceExchange {
  const { method, limits, content, signal } = call;
  const { body } = content;
  const isWhole = limits.kind === 'whole';
  const query = call.query === undefined ? '' : `?${new URLSearchParams(call.query).toString()}`;
  const target = `${folder}${call.path}${query}`;
  const { pathname, search } = isWhole ? new URL(`${origin}${target}`) : { pathname: target, search: '' };
  const stop = () => exchange.stop(signal.reason);
  const exchange = new ServiceExchange(limits, {
    sent() {
      calls.queued -= 1;
      calls.running += 1;
    },
    over(sent) {
      if (sent) calls.running -= 1;
      else calls.queued -= 1;
      signal.removeEventListener('abort', stop);
      if (!sent && body instanceof Readable) body.destroy();
    },
  });
  calls.queued += 1;
  if (signal.aborted) stop();
  else {
    signal.addEventListener('abort', stop, { once: true });
    // The exchange has finer timers of its own unless it is `whole`.
    const headersTimeout = isWhole ? limits.firstByteMs : 0;
    const bodyTimeout = isWhole ? limits.idleMs : 0;
    const path = `${pathname}${search}`;
    agent.dispatch({ origin, path, method, ...content, headersTimeout, bodyTimeout }, exchange);
  }
  return exchange;
}

async function save({ headers, body }: OpenReply, target: Parameters<typeof saveBody>[1]): Promise<SavedBody> {
  try {
    // A body with a too large content-length is not read.
    if (Number(headers['content-length'] ?? 0) > target.maxBytes) throw new BodyTooLarge('announced');
    return await saveBody(piecesOf(body), target);
  } catch (error) {
    body.abort();
    if (error instanceof ServiceHttpError) throw error;
    throw new ServiceHttpError(error instanceof BodyTooLarge ? 'garbage' : 'lost', 'unknown', error);
  }
}

async function* piecesOf(body: ServiceExchange): AsyncGenerator<Buffer> {
  for (let piece = await body.nextPiece(); piece; piece = await body.nextPiece()) yield piece;
}

/** Lower-case names; of a repeated header the first. */
function firstOfEach(received: NodeJS.Dict<string | string[]>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name in received) {
    const value = received[name];
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) headers[name.toLowerCase()] = first;
  }
  return headers;
}
