/**
 * Bytes of a request body, with all limits of reading: total size, time, and a minimum rate, so that no client occupies
 * a connection by sending a byte a second. Stopping early leaves the connection usable for the answer.
 */
import type { IncomingMessage } from 'node:http';
import { FareboxError } from '../../domain/errors.ts';
import type { TurnGuard } from '../server/turnGuard.ts';

export interface BodyLimits {
  maxBytes: number;
  timeoutMs: number;
  /** Error for a larger body. */
  tooLarge(): FareboxError;
}

/** Minimum average rate after a start that a slow network may need; slower senders are taken for an attack. */
const MIN_BYTES_PER_SECOND = 10_000;
const RATE_FREE_MS = 5_000;
const CHECK_EVERY_MS = 1_000;

/** One for each process: what it reads shares turns of the event loop, and the disk. */
export class BodyReader {
  readonly #turnGuard: TurnGuard;
  /** All bodies that are being read. One timer checks all of them: most end before it fires (bench `front`). */
  readonly #watches = new Set<BodyWatch>();
  #timer: NodeJS.Timeout | undefined = undefined;
  #line: Promise<unknown> = Promise.resolve();

  constructor(turnGuard: TurnGuard) {
    this.#turnGuard = turnGuard;
  }

  /** Yields the body; throws `body_too_large` (or the given error), `timed_out`, or `invalid_request` when it breaks off. */
  async *chunks(request: IncomingMessage, limits: BodyLimits): AsyncGenerator<Buffer, void> {
    if (announcedBytes(request) > limits.maxBytes) throw limits.tooLarge();
    const watch = this.#watch(request, limits.timeoutMs);
    try {
      for await (const chunk of request.iterator({ destroyOnReturn: false })) {
        const bytes = chunk as Buffer;
        watch.waitForReceipt += bytes.length;
        if (watch.waitForReceipt > limits.maxBytes) throw limits.tooLarge();
        const isFirst = watch.waitForReceipt === bytes.length;
        yield bytes;
        if (!isFirst) await this.#turnGuard.noteChunk();
      }
      if (!request.complete) throw brokenOff();
    } catch (error) {
      throw asReadError(error, watch);
    } finally {
      this.#watches.delete(watch);
    }
  }

  /**
   * The same by `data` events, for small bodies: they arrive in one piece, and an iterator would cost more than reading
   * them. `take` gets each piece and may throw to stop. Benches `front` and `rpc`.
   */
  take(request: IncomingMessage, limits: BodyLimits, take: (chunk: Buffer) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const watch = this.#watch(request, limits.timeoutMs);
      const stop = (error?: unknown) => {
        this.#watches.delete(watch);
        request.off('data', onData).off('end', onEnd).off('error', stop).off('close', onEnd);
        // Later errors have no listener and must not end the process.
        if (error === undefined) return resolve();
        request.pause().on('error', () => undefined);
        reject(asReadError(error, watch));
      };
      const onData = (chunk: Buffer) => {
        try {
          watch.waitForReceipt += chunk.length;
          if (watch.waitForReceipt > limits.maxBytes) throw limits.tooLarge();
          take(chunk);
          if (watch.waitForReceipt > chunk.length) this.#turnGuard.noteFlowingChunk(request);
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

  /**
   * One piece of all uploads at a time, each in its turn: twenty that come as fast as they can would otherwise keep the event
   * loop and the disk to themselves, and a call for any other route would wait for them (benches `media`, `memory`).
   */
  inLine<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#line.then(work);
    this.#line = turn.catch(() => undefined);
    return turn;
  }

  #watch(request: IncomingMessage, timeoutMs: number): BodyWatch {
    const watch: BodyWatch = {
      request,
      timeoutMs,
      startedAt: performance.now(),
      waitForReceipt: 0,
      late: undefined,
    };
    this.#watches.add(watch);
    this.#timer ??= setInterval(() => this.#checkRates(), CHECK_EVERY_MS).unref();
    return watch;
  }

  #checkRates(): void {
    for (const watch of this.#watches) checkRate(watch);
    if (this.#watches.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
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
  waitForReceipt: number;
  late: FareboxError | undefined;
}

function checkRate(watch: BodyWatch): void {
  const ms = performance.now() - watch.startedAt;
  const least = ((ms - RATE_FREE_MS) / 1000) * MIN_BYTES_PER_SECOND;
  if (ms < watch.timeoutMs && watch.waitForReceipt >= least) return;
  watch.late = new FareboxError({
    code: 'timed_out',
    message: 'The request body did not arrive in time.',
  });
  // The reader gets this error; a client this slow does not wait for an answer.
  watch.request.destroy(watch.late);
}

function brokenOff(cause?: unknown): FareboxError {
  return new FareboxError({
    code: 'invalid_request',
    message: 'The request body was not complete.',
    cause,
  });
}
