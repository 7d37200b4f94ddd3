/**
 * Requests to addresses of the operator's own machine or of this source code: its own API, pinned release archives.
 * Never for a URL of a user or a provider's answer, which need the guarded fetch.
 */
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Agent, EnvHttpProxyAgent, FormData, fetch, type RequestInit, type Response } from 'undici';
import { unpaused } from './unpaused.ts';

export { FormData };

export interface OperatorRequest extends Pick<RequestInit, 'method' | 'headers' | 'body'> {
  /** For the whole request, the body of the answer included. */
  timeoutMs: number;
}

const CONNECT_TIMEOUT_MS = 4_000;

const MAX_OWN_ANSWER_BYTES = 256 * 1024 * 1024;

const direct = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS } }).compose(unpaused(MAX_OWN_ANSWER_BYTES));

/** Sends a request to this machine, without a proxy. Throws when there is no answer in time. */
export function callOwn(url: string, request: OperatorRequest): Promise<Response> {
  const { timeoutMs, ...init } = request;
  return fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs), dispatcher: direct });
}

export interface ReleaseFile {
  url: string;
  path: string;
  maxBytes: number;
  timeoutMs: number;
  /** Environment with HTTPS_PROXY and NO_PROXY. */
  environment: NodeJS.ProcessEnv;
}

/**
 * Downloads over https, following redirects, through the operator's proxy where HTTPS_PROXY names one. An unreachable
 * host costs seconds. Returns the SHA-256 of what was written; throws, naming the cause, otherwise.
 */
export async function downloadRelease(file: ReleaseFile): Promise<{ sha256: string }> {
  const { HTTPS_PROXY, https_proxy, NO_PROXY, no_proxy } = file.environment;
  const dispatcher = new EnvHttpProxyAgent({
    httpsProxy: HTTPS_PROXY ?? https_proxy ?? '',
    noProxy: NO_PROXY ?? no_proxy ?? '',
    connect: { timeout: CONNECT_TIMEOUT_MS },
  });
  try {
    const signal = AbortSignal.timeout(file.timeoutMs);
    const answer = await fetch(file.url, { signal, dispatcher: dispatcher.compose(unpaused(file.maxBytes)) });
    if (answer.status !== 200 || answer.body === null) throw new Error(`answered ${answer.status}`);
    const hash = createHash('sha256');
    const body = Readable.fromWeb(answer.body);
    await pipeline(body, metered(file.maxBytes, hash), createWriteStream(file.path), { signal });
    return { sha256: hash.digest('hex') };
  } catch (error) {
    throw new Error(`${file.url}: ${causeOf(error)}`, { cause: error });
  } finally {
    await dispatcher.destroy();
  }
}

function metered(maxBytes: number, hash: ReturnType<typeof createHash>): Transform {
  let sizeBytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sizeBytes += chunk.length;
      hash.update(chunk);
      if (sizeBytes > maxBytes) done(new Error(`is larger than ${maxBytes} bytes`));
      else done(null, chunk);
    },
  });
}

/** The message of fetch is always "fetch failed"; its cause has the reason. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message || String(error.cause) : error.message;
}
