/**
 * The bytes of a request's body, with every limit that concerns reading: total size, time, and a least rate, so that
 * nobody holds a connection by sending a byte a second. Stopping early leaves the connection usable for the answer.
 */
import type { IncomingMessage } from 'node:http';
import { FareboxError } from '../../domain/errors.ts';

export interface BodyLimits {
  maxBytes: number;
  timeoutMs: number;
  /** What to throw when the body is larger. */
  tooLarge(): FareboxError;
}

/** Slower than this on average, after a start that a slow network may need, is not a client but a siege. */
const LEAST_BYTES_PER_SECOND = 10_000;
const RATE_FREE_MS = 5_000;
const CHECK_EVERY_MS = 1_000;

/** Yields the body; throws `body_too_large` (or the given error), `timed_out`, or `invalid_request` when it breaks off. */
export async function* bodyChunks(
  request: IncomingMessage,
  limits: BodyLimits,
): AsyncGenerator<Buffer, void> {
  if (Number(request.headers['content-length'] ?? 0) > limits.maxBytes) throw limits.tooLarge();
  const watch = watchRate(request, limits.timeoutMs);
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const bytes = chunk as Buffer;
      watch.received += bytes.length;
      if (watch.received > limits.maxBytes) throw limits.tooLarge();
      yield bytes;
    }
    if (!request.complete) throw brokenOff();
  } catch (error) {
    throw error instanceof FareboxError ? error : (watch.late ?? brokenOff(error));
  } finally {
    clearInterval(watch.timer);
  }
}

interface Watch {
  received: number;
  late: FareboxError | undefined;
  timer: NodeJS.Timeout;
}

function watchRate(request: IncomingMessage, timeoutMs: number): Watch {
  const startedAt = performance.now();
  const check = () => {
    const ms = performance.now() - startedAt;
    const least = ((ms - RATE_FREE_MS) / 1000) * LEAST_BYTES_PER_SECOND;
    if (ms < timeoutMs && watch.received >= least) return;
    watch.late = new FareboxError({
      code: 'timed_out',
      message: 'The request body did not arrive in time.',
    });
    // The waiting iterator ends with an error; who is this slow does not wait for an answer.
    request.destroy(watch.late);
  };
  const watch: Watch = { received: 0, late: undefined, timer: setInterval(check, CHECK_EVERY_MS).unref() };
  return watch;
}

function brokenOff(cause?: unknown): FareboxError {
  return new FareboxError({
    code: 'invalid_request',
    message: 'The request body was not complete.',
    cause,
  });
}
