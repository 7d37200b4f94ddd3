/**
 * The only way to a URL that a user or a provider named (reliability B.1, S1–S9). Whatever goes wrong, the caller learns one
 * sentence; the reason is for the log.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type Dispatcher } from 'undici';
import { FareboxError } from '../../domain/errors.ts';
import { decodedBody } from './decodedBody.ts';
import { guardedConnector } from './guardedConnector.ts';
import { paced } from './paced.ts';
import type { ResolveHost } from './resolveHost.ts';
import { BodyTooLarge, type SavedBody, saveBody } from './saveBody.ts';
import { type AllowedHosts, allowedHosts, effectivePort, hostnameOf, parseTarget } from './targetUrl.ts';
import { unpaused } from './unpaused.ts';

export interface GuardedFetchOptions {
  /** `host:port` pairs on private networks that users' URLs may name. */
  allowPrivateHosts: readonly string[];
  /** Instead of the DNS, for tests. */
  resolve?: ResolveHost;
  certificateAuthorities?: string;
  /** A failure is told no sooner than this after the start, plus up to as much again; 250 ms by default. */
  failureFloorMs?: number;
}

export interface DownloadTarget {
  /** A file that does not exist yet; it exists afterwards only when all of it arrived. */
  path: string;
  maxBytes: number;
  timeoutMs: number;
  signal?: AbortSignal;
}

export interface Downloaded extends SavedBody {
  contentType: string | undefined;
}

export interface GuardedFetch {
  /** Throws FareboxError `invalid_source` (one message for every cause) or `payload_too_large`. */
  download(url: string, target: DownloadTarget): Promise<Downloaded>;
}

const MAX_REDIRECTS = 3;
const CONNECT_TIMEOUT_MS = 10_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** Everything that a foreign host learns about us. */
const HEADERS = { 'user-agent': 'Farebox', accept: '*/*', 'accept-encoding': 'identity' };
const REDIRECTS = [301, 302, 303, 307, 308];

export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const hosts = allowedHosts(options.allowPrivateHosts);
  return {
    async download(url, target) {
      const startedAt = performance.now();
      try {
        return await follow({ options, hosts }, url, target);
      } catch (error) {
        if (target.signal?.aborted) throw target.signal.reason;
        if (error instanceof BodyTooLarge) throw tooLarge(target.maxBytes);
        if (isOurDisk(error)) throw error;
        await settleIn(startedAt, options.failureFloorMs ?? 250);
        throw notFetched(error);
      }
    },
  };
}

interface Door {
  options: GuardedFetchOptions;
  hosts: AllowedHosts;
}

async function follow(door: Door, url: string, target: DownloadTarget): Promise<Downloaded> {
  const deadline = AbortSignal.timeout(target.timeoutMs);
  const signal = target.signal === undefined ? deadline : AbortSignal.any([target.signal, deadline]);
  let next = parseTarget(url, door.hosts);
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const answer = await visit(door, next, { target, signal });
    if ('downloaded' in answer) return answer.downloaded;
    const location = new URL(answer.location, next);
    if (next.protocol === 'https:' && location.protocol !== 'https:')
      throw new Error('redirect to plain http');
    next = parseTarget(location.href, door.hosts);
  }
  throw new Error('too many redirects');
}

type Answer = { downloaded: Downloaded } | { location: string };
interface Visit {
  target: DownloadTarget;
  signal: AbortSignal;
}

/** One hop over a connection of its own, which ends with the hop. */
async function visit(door: Door, url: URL, { target, signal }: Visit): Promise<Answer> {
  const client = openClient(door, url);
  try {
    const path = `${url.pathname}${url.search}`;
    const reader = client.compose(unpaused(target.maxBytes));
    const response = await orAborted(
      reader.request({ method: 'GET', path, headers: HEADERS, signal }),
      signal,
    );
    const location = response.headers.location;
    if (REDIRECTS.includes(response.statusCode) && typeof location === 'string') return { location };
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
    return { downloaded: await save(response, { target, signal }) };
  } finally {
    // Not waited for: while a connection is still being made, it would take as long as that.
    client.destroy().catch(() => {});
  }
}

/** The client itself hears of an abort only once it is connected. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}

function openClient({ options, hosts }: Door, url: URL): Client {
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

async function save(response: Dispatcher.ResponseData, { target, signal }: Visit): Promise<Downloaded> {
  const encoding = String(response.headers['content-encoding'] ?? 'identity').toLowerCase();
  const announced = Number(response.headers['content-length'] ?? 0);
  if (announced > target.maxBytes) throw new BodyTooLarge('announced');
  const body = decodedBody(paced(response.body, signal), { encoding, maxEncodedBytes: target.maxBytes });
  const saved = await saveBody(body, target);
  const contentType = response.headers['content-type'];
  return { ...saved, contentType: typeof contentType === 'string' ? contentType : undefined };
}

/** Blocked, refused and unreachable must not be told apart by a stopwatch (S6). */
async function settleIn(startedAt: number, floorMs: number): Promise<void> {
  const wanted = floorMs + Math.random() * floorMs;
  await sleep(Math.max(0, wanted - (performance.now() - startedAt)));
}

function notFetched(error: unknown): FareboxError {
  const internal = error instanceof Error ? describe(error) : 'unknown';
  return new FareboxError({
    code: 'invalid_source',
    message: 'The audio_url could not be fetched.',
    internal,
  });
}

/** A full or broken disk of ours is not the fault of the URL. */
function isOurDisk(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EEXIST', 'ENOENT'].includes(String(code));
}

/** Causes carry codes and our own words; they never carry the URL. */
function describe(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  const own = `${code}: ${error.message}`;
  return error.cause instanceof Error ? `${own} <- ${describe(error.cause)}` : own;
}

function tooLarge(maxBytes: number): FareboxError {
  const megabytes = Math.floor(maxBytes / (1024 * 1024));
  return new FareboxError({
    code: 'payload_too_large',
    message: `The source is larger than ${megabytes} MB.`,
    internal: `cap ${maxBytes} bytes`,
  });
}
