/** Sends a stream of unknown length. */
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { FareboxError } from '../../domain/errors.ts';
import type { StreamAnswer, StreamBreaker } from './answer.ts';
import type { ApiContext } from './requestState.ts';

/** A stream may take as long as it needs, but a client that reads nothing for this long is cut off. */
export const STREAM_IDLE_MS = 60_000;

/**
 * The status goes out with the first chunk, so that an earlier error of the source can still be answered. A later
 * error, or a client that stands still, ends the connection without the last chunk: no client takes it for the whole.
 */
export async function sendStream(ctx: ApiContext, answer: StreamAnswer, idleMs = STREAM_IDLE_MS): Promise<void> {
  const { res } = ctx;
  const stopReading = () => answer.stream.destroy();
  if (ctx.method === 'HEAD') {
    stopReading();
    await answer.onAborted?.('client');
    ctx.respond = false;
    res.setHeader('Content-Type', answer.contentType);
    res.end();
    return;
  }
  res.once('close', stopReading);
  const sending: StreamTransfer = { answer, res, idleMs, waitedMs: 0, sourceFailed: false };
  try {
    const chunks = answer.stream[Symbol.asyncIterator]() as Chunks;
    const first = await firstOf(chunks);
    if (res.destroyed) throw new Error('the client is gone');
    await answer.onBegun?.();
    ctx.respond = false;
    res.setHeader('Content-Type', answer.contentType);
    await pipeline(chunksOf(first, chunks, sending), res);
  } catch (error) {
    const isTold = !res.headersSent && !res.destroyed;
    if (!isTold) {
      ctx.respond = false;
      ctx.state.log.info({ err: error, route: ctx.state.route }, 'a stream broke off');
      res.destroy();
    }
    await answer.onAborted?.(breakerOf(sending));
    if (isTold) throw error;
  } finally {
    res.off('close', stopReading);
    stopReading();
  }
}

type Chunk = IteratorResult<Buffer | string, void>;
type Chunks = AsyncIterator<Buffer | string, void>;

async function firstOf(chunks: Chunks): Promise<Chunk> {
  try {
    return await chunks.next();
  } catch (cause) {
    if (cause instanceof FareboxError) throw cause;
    const message = 'This cannot be read at the moment. Please try again.';
    throw new FareboxError({ code: 'unavailable', message, cause });
  }
}

interface StreamTransfer {
  answer: StreamAnswer;
  res: ServerResponse;
  idleMs: number;
  /** Total wait for the client. */
  waitedMs: number;
  sourceFailed: boolean;
}

/** A source that waited this long for the client may have been closed for that. */
function breakerOf({ sourceFailed, waitedMs, idleMs }: StreamTransfer): StreamBreaker {
  return sourceFailed && waitedMs < idleMs ? 'source' : 'client';
}

/** The next chunk is read when the client has taken the one before: the idle time limits that wait. */
async function* chunksOf(first: Chunk, chunks: Chunks, sending: StreamTransfer): AsyncGenerator<Buffer | string, void> {
  const { answer, res, idleMs } = sending;
  for (let chunk = first; !chunk.done; chunk = await nextOf(chunks, sending)) {
    const idle = setTimeout(() => res.destroy(new Error(`the client took nothing for ${idleMs} ms`)), idleMs);
    const since = performance.now();
    try {
      yield chunk.value;
    } finally {
      clearTimeout(idle);
      sending.waitedMs += performance.now() - since;
    }
  }
  await answer.onWhole?.();
}

async function nextOf(chunks: Chunks, sending: StreamTransfer): Promise<Chunk> {
  try {
    return await chunks.next();
  } catch (error) {
    // The source also ends when the client has gone.
    sending.sourceFailed = !sending.res.destroyed;
    throw error;
  }
}
