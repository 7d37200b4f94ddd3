/**
 * Core of every request to a URL of a user or a provider (FETCH-1 to FETCH-6): one GET with fixed headers, over its own
 * connection to a checked address; redirects are followed here and checked again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type Dispatcher } from 'undici';
import { rejectOnAbort } from '../rejectOnAbort.ts';
import { guardedConnector } from './guardedConnector.ts';
import type { ResolveHost } from './resolveHost.ts';
import { type AllowedHosts, allowedHosts, effectivePort, hostnameOf, parseTarget } from './targetUrl.ts';
import { unpaused } from './unpaused.ts';

export interface GuardedFetchOptions {
  /** `host:port` pairs on private networks that users' URLs may name. */
  allowPrivateHosts: readonly string[];
  /** Replaces the DNS in tests. */
  resolve?: ResolveHost;
  certificateAuthorities?: string;
  /** Minimum time of a failure, plus up to as much again; 250 ms by default. */
  failureFloorMs?: number;
}

export interface GuardedGet<Result> {
  /** All that a foreign host learns about this service. */
  headers: Readonly<Record<string, string>>;
  /** Limit of the encoded body; unread bytes are kept up to it. */
  maxWireBytes: number;
  /** Time limit for all hops and the body together. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Called before each hop; an error ends the request. */
  mayVisit?: (url: URL, signal: AbortSignal) => Promise<void>;
  /** Reads the final answer; the connection ends with this. */
  receive(response: Dispatcher.ResponseData, url: URL, signal: AbortSignal): Promise<Result>;
}

export interface FetchGuard {
  options: GuardedFetchOptions;
  hosts: AllowedHosts;
}

const MAX_REDIRECTS = 3;
const CONNECT_TIMEOUT_MS = 10_000;
const MAX_HEADER_BYTES = 16 * 1024;
const REDIRECTS = [301, 302, 303, 307, 308];

export class TooManyRedirects extends Error {}

export function openFetchGuard(options: GuardedFetchOptions): FetchGuard {
  return { options, hosts: allowedHosts(options.allowPrivateHosts) };
}

/** Throws plain errors with the reason, for the log: the callers decide what clients learn. */
export async function guardedGet<Result>(guard: FetchGuard, url: string, get: GuardedGet<Result>): Promise<Result> {
  const deadline = AbortSignal.timeout(get.timeoutMs);
  const signal = get.signal === undefined ? deadline : AbortSignal.any([get.signal, deadline]);
  let next = parseTarget(url, guard.hosts);
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    await get.mayVisit?.(next, signal);
    const visited = next;
    const answer = await exchange<Answer<Result>>(guard, visited, {
      method: 'GET',
      headers: get.headers,
      maxWireBytes: get.maxWireBytes,
      signal,
      receive: async (response) => {
        const { location } = response.headers;
        if (REDIRECTS.includes(response.statusCode) && typeof location === 'string') return { location };
        return { received: await get.receive(response, visited, signal) };
      },
    });
    if ('received' in answer) return answer.received;
    const location = new URL(answer.location, next);
    if (next.protocol === 'https:' && location.protocol !== 'https:') throw new Error('redirect to plain http');
    next = parseTarget(location.href, guard.hosts);
  }
  throw new TooManyRedirects('too many redirects');
}

type Answer<Result> = { received: Result } | { location: string };

interface Exchange<Result> {
  method: 'GET' | 'POST';
  headers: Readonly<Record<string, string>>;
  body?: string;
  maxWireBytes: number;
  signal: AbortSignal;
  receive(response: Dispatcher.ResponseData): Promise<Result>;
}

/** One request over its own connection, which is checked when it is made and ends with the request. */
export async function exchange<Result>(
  guard: FetchGuard,
  url: URL,
  { method, headers, body, maxWireBytes, signal, receive }: Exchange<Result>,
): Promise<Result> {
  const client = openClient(guard, url);
  try {
    const path = `${url.pathname}${url.search}`;
    const sender = client.compose(unpaused(maxWireBytes));
    const sent = sender.request({ method, path, headers: { ...headers }, body: body ?? null, signal });
    // undici handles an abort only once it is connected.
    return await receive(await rejectOnAbort(sent, signal));
  } finally {
    // Not awaited: that would wait for a connection in progress.
    client.destroy().catch(() => {});
  }
}

function openClient({ options, hosts }: FetchGuard, url: URL): Client {
  const connect = guardedConnector({
    isTrustedHost: (hostname, port) => hosts.has(hostname, port),
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    ...(options.resolve === undefined ? {} : { resolve: options.resolve }),
    certificateAuthorities: options.certificateAuthorities,
  });
  return new Client(`${url.protocol}//${hostnameOf(url, 'bracketed')}:${effectivePort(url)}`, {
    connect,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: 15_000,
    bodyTimeout: 5_000,
    pipelining: 0,
  });
}

/** Blocked, refused and unreachable addresses take the same time (FETCH-5). */
export async function settleFailure(guard: FetchGuard, startedAt: number): Promise<void> {
  const floorMs = guard.options.failureFloorMs ?? 250;
  const wanted = floorMs + Math.random() * floorMs;
  await sleep(Math.max(0, wanted - (performance.now() - startedAt)));
}

/** Causes carry codes and our own words; they never carry the URL. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  const own = `${code}: ${error.message}`;
  return error.cause instanceof Error ? `${own} <- ${describeFailure(error.cause)}` : own;
}
