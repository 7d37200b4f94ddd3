/** Connections to one node: kept ones for reads, one per call for writes, and paused ones for streamed results. */
import type { ProviderTimeouts } from '../../domain/providerSettings.ts';
import type { RpcEndpoint, RpcNetworkSettings } from '../../domain/rpc/networks.ts';
import { decodedBody } from '../../infra/http/decodedBody.ts';
import type { ServiceBody } from '../../infra/http/serviceExchange.ts';
import { createServiceHttp, type ServiceReply } from '../../infra/http/serviceHttp.ts';

export interface NodeClient {
  /** For operators: index and host. */
  readonly name: string;
  readonly weight: number;
  /** Texts that clients must not see. */
  readonly secrets: readonly string[];
  post(question: Buffer, options: { signal: AbortSignal; maxBytes: number; once: boolean }): Promise<ServiceReply>;
  /** Reads from the connection only as fast as the body is consumed. */
  stream(question: Buffer, options: { signal: AbortSignal; maxBytes: number }): Promise<ServiceReply>;
  close(): Promise<void>;
}

export interface NodeClientOptions {
  network: string;
  index: number;
  endpoint: string | RpcEndpoint;
  settings: RpcNetworkSettings;
  /** Undefined: no key is sent. */
  apiKey: string | undefined;
}

const TIMEOUTS: ProviderTimeouts = { connectMs: 3_000, firstByteMs: 30_000, idleMs: 15_000 };
/** Shorter path segments are words, not keys. */
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
  // The HTTP client removes a trailing slash.
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

/** Yields the reply's pieces. Encodings are not requested; encoded replies are decoded, and both sizes count. */
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

/** Yields arriving pieces; leaving the loop aborts. A generator would cost three times as much (bench `rpc`). */
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
