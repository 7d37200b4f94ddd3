/**
 * Downloads from a URL of a user or a provider (FETCH-1 to FETCH-6). The caller gets one message for every failure; the
 * reason is for the log.
 */
import type { Dispatcher } from 'undici';
import { FareboxError } from '../../domain/errors.ts';
import { plainBody } from './decodedBody.ts';
import { describeFailure, type GuardedFetchOptions, guardedGet, openFetchGuard, settleFailure } from './guardedGet.ts';
import { BodyTooLarge, type SavedBody, saveBody } from './saveBody.ts';
import { TargetRefused } from './targetUrl.ts';

export type { GuardedFetchOptions } from './guardedGet.ts';

interface DownloadTarget {
  /** Path of a new file, which exists afterwards only if it is complete. */
  path: string;
  maxBytes: number;
  timeoutMs: number;
  signal?: AbortSignal;
  /** Called with each piece before it is written. A FareboxError that it throws ends the download and is thrown. */
  noteBytes?: ((bytes: number) => void) | undefined;
}

export interface Download extends SavedBody {
  contentType: string | undefined;
}

export interface GuardedFetch {
  /**
   * Throws FareboxError `invalid_source` (one message for every cause) or `payload_too_large`. For the former
   * `isRefusedTarget` tells whether a retry is pointless, for callers whose answer does not reveal it.
   */
  download(url: string, target: DownloadTarget): Promise<Download>;
}

/** All that a foreign host learns about this service. */
const HEADERS = { 'user-agent': 'Farebox', accept: '*/*', 'accept-encoding': 'identity' };

export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const guard = openFetchGuard(options);
  return {
    async download(url, target) {
      const startedAt = performance.now();
      const { maxBytes, timeoutMs, signal } = target;
      try {
        return await guardedGet(guard, url, {
          headers: HEADERS,
          maxWireBytes: maxBytes,
          timeoutMs,
          signal,
          receive: (response, _, running) => save(response, target, running),
        });
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        if (error instanceof BodyTooLarge) throw tooLarge(maxBytes);
        if (isOurDisk(error) || error instanceof FareboxError) throw error;
        await settleFailure(guard, startedAt);
        throw notFetched(error);
      }
    },
  };
}

async function save(response: Dispatcher.ResponseData, target: DownloadTarget, signal: AbortSignal): Promise<Download> {
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
  const announced = Number(response.headers['content-length'] ?? 0);
  if (announced > target.maxBytes) throw new BodyTooLarge('announced');
  const saved = await saveBody(plainBody(response, target.maxBytes, signal), target);
  const contentType = response.headers['content-type'];
  return { ...saved, contentType: typeof contentType === 'string' ? contentType : undefined };
}

function notFetched(error: unknown): FareboxError {
  return new FareboxError({
    code: 'invalid_source',
    message: 'The audio_url could not be fetched.',
    internal: describeFailure(error),
    cause: error,
  });
}

export function isRefusedTarget(error: unknown): boolean {
  return error instanceof TargetRefused || (error instanceof Error && isRefusedTarget(error.cause));
}

/** A full or broken local disk is not the fault of the URL. */
function isOurDisk(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EEXIST', 'ENOENT'].includes(String(code));
}

function tooLarge(maxBytes: number): FareboxError {
  const megabytes = Math.floor(maxBytes / (1024 * 1024));
  return new FareboxError({
    code: 'payload_too_large',
    message: `The source is larger than ${megabytes} MB.`,
    internal: `cap ${maxBytes} bytes`,
  });
}
