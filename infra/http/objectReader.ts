/**
 * Fetches objects for the S3 client with undici. Node's own client makes a useless copy of each piece, a third of the
 * work of sending a large object to a client. Bench `delivery`.
 */
import type { Readable } from 'node:stream';
import { Agent } from 'undici';
import { connectForLargeReads } from './largeReads.ts';

export interface ReadingLimits {
  connectMs: number;
  /** Longest time without a byte. */
  silenceMs: number;
  mostConnections: number;
}

/** Request as the S3 client signs it, for reads: without a body. */
interface SignedRequest {
  method: string;
  protocol: string;
  hostname: string;
  port?: number;
  path: string;
  query?: Readonly<Record<string, string | string[] | null>>;
  headers: Readonly<Record<string, string>>;
}

export interface ReadingHandler {
  handle(
    request: SignedRequest,
    options?: { abortSignal?: unknown },
  ): Promise<{ response: { statusCode: number; headers: Record<string, string>; body: Readable } }>;
  destroy(): void;
}

/** Bytes read ahead of the consumer. */
const AHEAD_BYTES = 64 * 1024;

export function createReadingHandler(limits: ReadingLimits): ReadingHandler {
  const agent = new Agent({
    connect: connectForLargeReads(limits.connectMs),
    headersTimeout: limits.silenceMs,
    bodyTimeout: limits.silenceMs,
    connections: limits.mostConnections,
  });
  return {
    async handle({ method, headers, ...request }, { abortSignal } = {}) {
      const signal = abortSignal instanceof AbortSignal ? abortSignal : null;
      const address = { origin: originOf(request), path: pathOf(request) };
      try {
        const wanted = { ...address, method: method as 'GET', headers, signal, highWaterMark: AHEAD_BYTES };
        const { statusCode, headers: told, body } = await agent.request(wanted);
        return { response: { statusCode, headers: single(told), body } };
      } catch (cause) {
        if (signal?.aborted) throw cause;
        // Error name that lets the client retry.
        throw Object.assign(new Error('the store does not answer', { cause }), { name: 'TimeoutError' });
      }
    },
    destroy: () => void agent.destroy(),
  };
}

function originOf({ protocol, hostname, port }: Pick<SignedRequest, 'protocol' | 'hostname' | 'port'>) {
  return `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`;
}

function pathOf({ path, query = {} }: Pick<SignedRequest, 'path' | 'query'>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((each) => `${encodeURIComponent(name)}=${encodeURIComponent(each ?? '')}`),
  );
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}

function single(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const known = Object.entries(headers).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known.map(([name, value]) => [name, [value].flat().join(', ')]));
}
