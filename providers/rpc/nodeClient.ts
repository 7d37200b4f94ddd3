/** The connections to one node: kept ones for reads, one per call for writes, and slow readers' for what may be large. */
import type { ProviderTimeouts } from '../../domain/providerSettings.ts';
import type { RpcEndpoint, RpcNetworkSettings } from '../../domain/rpc/networks.ts';
import { decodedBody } from '../../infra/http/decodedBody.ts';
import type { ServiceBody } from '../../infra/http/serviceExchange.ts';
import { createServiceHttp, type ServiceReply } from '../../infra/http/serviceHttp.ts';

export interface NodeClient {
  /** For operators: place and host. */
  readonly name: string;
  readonly weight: number;
  /** Texts that must not be read by anybody. */
  readonly secrets: readonly string[];
  post(question: Buffer, options: { signal: AbortSignal; maxBytes: number; once: boolean }): Promise<ServiceReply>;
  /** The connection is read only as fast as the body's reader goes. */
  stream(question: Buffer, options: { signal: AbortSignal; maxBytes: number }): Promise<ServiceReply>;
  close(): Promise<void>;
}

export interface NodeClientOptions {
  network: string;
  index: number;
  endpoint: string | RpcEndpoint;
  settings: RpcNetworkSettings;
  /** Undefined: none is sent. */
  apiKey: string | undefined;
}

const TIMEOUTS: ProviderTimeouts = { connectMs: 3_000, firstByteMs: 30_000, idleMs: 15_000 };
/** Shorter parts of a path are words, and no keys. */
const MIN_SECRET = 12;
const IDENTITY = { 'accept-encoding': 'identity' };

export function openNodeClient({ network, index, endpoint, settings, apiKey }: NodeClientOptions): NodeClient {
  const { url: written, weight = 1 } = typeof endpoint === 'string' ? { url: endpoint } : endpoint;
  const inUrl = written.includes('{key}');
  const url = new URL(written.replaceAll('{key}', encodeURIComponent(apiKey ?? '')));
  const bearer = apiKey !== undefined && !inUrl ? { authorization: `Bearer ${apiKey}` } : {};
  const shared = {
    baseUrl: `${url.origin}${url.pathname}`,
    allowPrivateNetwork: settings.allowPrivateNetwork,
    headers: { ...IDENTITY, ...bearer },
    timeouts: { ...TIMEOUTS, ...settings.timeouts },
  };
  const name = `rpc:${network}`;
  const reads = createServiceHttp({ ...shared, name, keepsConnections: true });
  const writes = createServiceHttp({ ...shared, name });
  const streams = createServiceHttp({ ...shared, pauses: true });
  // The HTTP client takes a slash at the end away.
  const path = url.pathname.endsWith('/') ? '/' : '';
  const query = url.search === '' ? {} : { query: Object.fromEntries(url.searchParams) };
  return {
    name: `${index} ${url.host}`,
    weight,
    secrets: secretsOf(url, apiKey),
    post: (question, { once, ...call }) => (once ? writes : reads).post({ path, ...query, text: question, ...call }),
    stream: (question, call) => streams.post({ path: `${path}${url.search}`, text: question, ...call }),
    close: async () => {
      await Promise.all([streams.destroy(), reads.destroy(), writes.destroy()]);
    },
  };
}

function secretsOf({ pathname, searchParams }: URL, apiKey: string | undefined): string[] {
  const parts = [...pathname.split('/'), ...searchParams.values()].filter((part) => part.length >= MIN_SECRET);
  return [...new Set([...parts, ...(apiKey ? [apiKey] : [])])];
}

/** The pieces of an answer. Nobody asked for an encoding; what has one all the same is decoded, and its size counted twice. */
export function plainPieces(
  body: ServiceBody,
  encoding: string | undefined,
  maxEncodedBytes: number,
): AsyncIterable<Buffer> {
  const written = encoding?.trim().toLowerCase() ?? '';
  const pieces = piecesOf(body);
  if (written === '' || written === 'identity') return pieces;
  return decodedBody(pieces, { encoding: written, maxEncodedBytes });
}

/** As they come. Ended by leaving the loop. By hand: a generator would cost three times as much (bench `rpc`). */
function piecesOf(body: ServiceBody): AsyncIterableIterator<Buffer> {
  return {
    async next() {
      const value = await body.next();
      return value === undefined ? ENDED : { done: false, value };
    },
    async return() {
      body.abort();
      return ENDED;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

const ENDED: IteratorReturnResult<undefined> = { done: true, value: undefined };
