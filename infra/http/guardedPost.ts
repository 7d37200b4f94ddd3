/**
 * Sends one POST to a URL of a user: over its own connection to a checked address, with the time limits of a download
 * (FETCH-1 to FETCH-6). The result is a status; redirects are not followed, and the body is dropped.
 */
import { FareboxError } from '../../domain/errors.ts';
import {
  describeFailure,
  exchange,
  type FetchGuard,
  type GuardedFetchOptions,
  openFetchGuard,
  settleFailure,
} from './guardedGet.ts';
import { parseTarget } from './targetUrl.ts';

interface PostRequest {
  /** All that a foreign host learns about this service, beside the body. */
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Time from the DNS lookup to the first line of the answer. */
  timeoutMs: number;
  signal?: AbortSignal;
}

export interface GuardedPost {
  /**
   * Status of the answer. Throws FareboxError `invalid_source`, one message for every cause, when there is none; the
   * cause is in `internal`, for the log.
   */
  post(url: string, posted: PostRequest): Promise<number>;
}

/** Bytes and time for the rest of an answer, so that a receiver does not see its answer cut off. */
const MAX_ANSWER_BYTES = 64 * 1024;
const ANSWER_BODY_MS = 1_000;

export function createGuardedPost(options: GuardedFetchOptions): GuardedPost {
  const guard = openFetchGuard(options);
  return {
    async post(url, posted) {
      const startedAt = performance.now();
      try {
        return await send(guard, parseTarget(url, guard.hosts), posted);
      } catch (error) {
        if (posted.signal?.aborted) throw posted.signal.reason;
        await settleFailure(guard, startedAt);
        throw new FareboxError({
          code: 'invalid_source',
          message: 'The URL could not be reached.',
          internal: describeFailure(error),
          cause: error,
        });
      }
    },
  };
}

async function send(guard: FetchGuard, url: URL, { headers, body, timeoutMs, signal }: PostRequest): Promise<number> {
  const deadline = AbortSignal.timeout(timeoutMs);
  const limit = MAX_ANSWER_BYTES;
  return await exchange(guard, url, {
    method: 'POST',
    headers,
    body,
    maxWireBytes: limit,
    signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    receive: async (response) => {
      await response.body.dump({ limit, signal: AbortSignal.timeout(ANSWER_BODY_MS) }).catch(() => undefined);
      return response.statusCode;
    },
  });
}
