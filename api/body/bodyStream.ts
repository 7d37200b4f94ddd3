/**
 * The bytes of a request's body, with every limit that concerns reading: total size, time, and a least rate, so that
 * nobody holds a connection by sending a byte a second. Stopping early leaves the connection usable for the answer.
 */
import type { IncomingMessage } from 'node:http';
import { FareboxError } from '../../domain/errors.ts';
import { turnGuard } from '../server/turnGuard.ts';

export interface BodyLimits {
  maxBytes: number;
  timeoutMs: number;
  /** What to throw when the body is larger. */
  tooLarge(): FareboxError;
}

/** Slower than this on average, after a start that a slow network may need, is not a client but a siege. */
const MIN_BYTES_PER_SECOND = 10_000;
const RATE_FREE_MS = 5_000;
const CHECK_EVERY_MS = 1_000;

/** Yields the body; throws `body_too_large` (or the given error), `timed_out`, or `invalid_request` when it breaks off. */
export async function* bodyChunks(
  request: IncomingMessage,
  limits: BodyLimits,
): AsyncGenerator<Buffer, void> {
  if (announcedBytes(request) > limits.maxBytes) throw limits.tooLarge();
  const watch = watchRate(request, limits.timeoutMs);
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const bytes = chunk as Buffer;
      watch.received += bytes.length;
      if (watch.received > limits.maxBytes) throw limits.tooLarge();
      const isFirst = watch.received === bytes.length;
      yield bytes;
      if (!isFirst) await turnGuard.noteChunk();
    }
    if (!request.complete) throw brokenOff();
  } catch (error) {
    throw asReadError(error, watch);
  } finally {
    watches.delete(watch);
  }
}

/**
 * The same by listening, for small bodies: they arrive in one piece, and an iterator would cost more than reading them.
 * `take` gets each piece and may throw to stop. Benches `front` and `rpc`.
 */
export function takeChunks(
  request: IncomingMessage,
  limits: BodyLimits,
  take: (chunk: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const watch = watchRate(request, limits.timeoutMs);
    const stop = (error?: unknown) => {
      watches.delete(watch);
      request.off('data', onData).off('end', onEnd).off('error', stop).off('close', onEnd);
      // Whatever goes wrong after this is nobody's business here, and must not bring down the process.
      if (error === undefined) return resolve();
      request.pause().on('error', () => undefined);
      reject(asReadError(error, watch));
    };
    const onData = (chunk: Buffer) => {
      try {
        watch.received += chunk.length;
        if (watch.received > limits.maxBytes) throw limits.tooLarge();
        take(chunk);
        if (watch.received > chunk.length) turnGuard.noteFlowingChunk(request);
      } catch (error) {
        stop(error);
      }
    };
    const onEnd = () => stop(request.complete && request.readableEnded ? undefined : brokenOff());
    if (announcedBytes(request) > limits.maxBytes) stop(limits.tooLarge());
    else if (request.destroyed) stop(brokenOff(request.errored));
    else request.on('data', onData).on('end', onEnd).on('error', stop).on('close', onEnd);
  });
}

function announcedBytes(request: IncomingMessage): number {
  return Number(request.headers['content-length'] ?? 0);
}

function asReadError(error: unknown, watch: BodyWatch): FareboxError {
  return error instanceof FareboxError ? error : (watch.late ?? brokenOff(error));
}

interface BodyWatch {
  request: IncomingMessage;
  timeoutMs: number;
  startedAt: number;
  received: number;
  late: FareboxError | undefined;
}

/** All bodies that are being read. One timer looks at all of them: most are gone before it ever does (bench `front`). */
const watches = new Set<BodyWatch>();
let timer: NodeJS.Timeout | undefined;

function watchRate(request: IncomingMessage, timeoutMs: number): BodyWatch {
  const watch: BodyWatch = { request, timeoutMs, startedAt: performance.now(), received: 0, late: undefined };
  watches.add(watch);
  timer ??= setInterval(checkRates, CHECK_EVERY_MS).unref();
  return watch;
}

function checkRates(): void {
  for (const watch of watches) checkRate(watch);
  if (watches.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

function checkRate(watch: BodyWatch): void {
  const ms = performance.now() - watch.startedAt;
  const least = ((ms - RATE_FREE_MS) / 1000) * MIN_BYTES_PER_SECOND;
  if (ms < watch.timeoutMs && watch.received >= least) return;
  watch.late = new FareboxError({
    code: 'timed_out',
    message: 'The request body did not arrive in time.',
  });
  // Whoever reads gets this error; who is this slow does not wait for an answer.
  watch.request.destroy(watch.late);
}

function brokenOff(cause?: unknown): FareboxError {
  return new FareboxError({
    code: 'invalid_request',
    message: 'The request body was not complete.',
    cause,
  });
}
