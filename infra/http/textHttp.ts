/**
 * Synchronous calls to the text services that the operator configured, over connections that are kept: one per running
 * call, so a stream never waits behind another one. Redirects are never followed, every body has a cap and every wait a
 * deadline; a failure says whether the request can have reached the service. Kept connections: benches `chat` and `rpc`.
 */
import { Agent, type Dispatcher } from 'undici';
import type { ProviderTimeouts } from '../../domain/providerSettings.ts';
import { providerCallsOf } from '../telemetry/counters.ts';
import { inSpan } from '../telemetry/spans.ts';
import { encodeJson } from './encodeJson.ts';
import { operatorConnector } from './guardedConnector.ts';
import { type MultipartParts, multipartBody } from './multipart.ts';
import { firstOfEach, spanOf } from './providerHttp.ts';
import type { ResolveHost } from './resolveHost.ts';
import { type ExchangeLimits, TextExchange } from './textExchange.ts';
import { type TextBody, TextHttpError } from './textHttpError.ts';

export interface TextHttpOptions {
  /** The provider entry, for the metrics. */
  name: string;
  /** The service's address with an optional path, e.g. `https://api.example/v1`. */
  baseUrl: string;
  /** True: the address may be on a private network, as the operator's configuration says. */
  allowPrivateNetwork?: boolean | undefined;
  /** Sent with every call, e.g. the credential. */
  headers?: Record<string, string>;
  timeouts?: Partial<ProviderTimeouts> | undefined;
  /** Of one whole answer. */
  maxReplyBytes?: number;
  /**
   * A connection per call. On a kept one that the service is just closing a request is lost without anyone knowing how far
   * it got, which matters where it must not be sent again.
   */
  freshConnections?: boolean;
  /** Instead of the DNS, for tests. */
  resolve?: ResolveHost;
  certificateAuthorities?: string;
}

export interface TextCall {
  /** Below the base URL, starting with a slash. */
  path: string;
  query?: Record<string, string>;
  /** The body, unless it is a form. */
  json?: unknown;
  /** The body as JSON text, where it is written already. */
  text?: string | Buffer;
  multipart?: MultipartParts;
  headers?: Record<string, string>;
  /** Of this answer, in place of the `maxReplyBytes` of all. */
  maxBytes?: number;
  signal: AbortSignal;
}

export interface TextReply {
  status: number;
  /** Lower-case names; of a repeated header the first. */
  headers: Record<string, string>;
  body: TextBody;
}

export interface TextHttp {
  /** Resolves with the head of the answer, whatever its status. Throws TextHttpError, here and while the body is read. */
  post(call: TextCall): Promise<TextReply>;
  close(): Promise<void>;
}

/** The first byte below the deadlines of the routes: a service that hangs is found out by that, and asked no more for a while. */
const DEFAULT_TIMEOUTS: ProviderTimeouts = { connectMs: 5_000, firstByteMs: 120_000, idleMs: 60_000 };
/** Calls beyond them wait in line, silently: as many as one process can carry. */
const MOST_CONNECTIONS = 1_024;
/** Shorter than the five seconds after which common servers close a connection that rests: see `lost`. */
const KEPT_MS = 4_000;
const MOST_KEPT_MS = 60_000;
const MAX_REPLY_BYTES = 64 * 1024 * 1024;

export function createTextHttp(options: TextHttpOptions): TextHttp {
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const agent = openAgent(options, timeouts);
  const { origin, pathname } = new URL(options.baseUrl);
  const headers = { 'user-agent': 'Farebox', accept: '*/*', ...options.headers };
  const door: Door = {
    agent,
    origin,
    folder: pathname.replace(/\/+$/, ''),
    headers,
    jsonHeaders: { ...headers, ...OF_JSON },
    limits: { ...timeouts, maxBytes: options.maxReplyBytes ?? MAX_REPLY_BYTES },
    calls: providerCallsOf(options.name),
  };
  const span = spanOf(options.baseUrl, 'POST');
  return {
    post: (call) =>
      inSpan(span, async (note) => {
        const reply = await send(door, call);
        note({ 'http.response.status_code': reply.status });
        return reply;
      }),
    // Ends what still runs: whoever closes has drained before.
    close: () => agent.destroy(),
  };
}

function openAgent(options: TextHttpOptions, timeouts: ProviderTimeouts): Agent {
  return new Agent({
    connect: operatorConnector(options, timeouts.connectMs),
    connections: MOST_CONNECTIONS,
    pipelining: options.freshConnections ? 0 : 1,
    keepAliveTimeout: KEPT_MS,
    keepAliveMaxTimeout: MOST_KEPT_MS,
    // The exchange has its own, finer clocks.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 32 * 1024,
  });
}

interface Door {
  agent: Dispatcher;
  origin: string;
  folder: string;
  headers: Record<string, string>;
  /** Of a call that has none of its own. */
  jsonHeaders: Record<string, string>;
  limits: ExchangeLimits;
  calls: ReturnType<typeof providerCallsOf>;
}

const OF_JSON = { 'content-type': 'application/json' };

async function send(door: Door, call: TextCall): Promise<TextReply> {
  const { signal } = call;
  const { body, headers } = call.multipart
    ? await encodeForm(door, call, call.multipart)
    : encode(door, call, await textOf(call));
  if (signal.aborted) throw new TextHttpError('stopped', 'not_sent', signal.reason);
  const { calls, limits } = door;
  const stop = () => exchange.stop(signal.reason);
  const own = call.maxBytes === undefined ? limits : { ...limits, maxBytes: call.maxBytes };
  const exchange = new TextExchange(own, {
    sent() {
      calls.queued -= 1;
      calls.running += 1;
    },
    over(sent) {
      if (sent) calls.running -= 1;
      else calls.queued -= 1;
      signal.removeEventListener('abort', stop);
    },
  });
  calls.queued += 1;
  signal.addEventListener('abort', stop, { once: true });
  const query = call.query === undefined ? '' : `?${new URLSearchParams(call.query).toString()}`;
  const path = `${door.folder}${call.path}${query}`;
  door.agent.dispatch({ origin: door.origin, path, method: 'POST', headers, body }, exchange);
  const head = await exchange.head;
  return { status: head.status, headers: firstOfEach(head.headers), body: exchange };
}

function textOf({ json, text }: TextCall): string | Buffer | Promise<Buffer> {
  return text ?? encodeJson(json);
}

function encode(door: Door, { headers }: TextCall, body: string | Buffer) {
  return { body, headers: headers ? { ...lowerCase(headers), ...door.jsonHeaders } : door.jsonHeaders };
}

async function encodeForm(door: Door, { headers = {} }: TextCall, parts: MultipartParts) {
  const { contentType, sizeBytes, stream } = await multipartBody(parts);
  const itsOwn = { 'content-type': contentType, 'content-length': String(sizeBytes) };
  return { body: stream, headers: { ...lowerCase(headers), ...door.headers, ...itsOwn } };
}

/** So that none of a call's can stand beside one of ours, least of all the credential. */
function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
