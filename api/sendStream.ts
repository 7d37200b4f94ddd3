/** Sends bytes whose number is not known before their end. */
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { FareboxError } from '../domain/errors.ts';
import type { StreamAnswer } from './answer.ts';
import type { ApiContext } from './requestState.ts';

/** A stream may take as long as it needs, but a client that takes nothing for this long is cut off. */
export const STREAM_IDLE_MS = 60_000;

/**
 * The status goes out with the first chunk, so that a source that fails before it can still be told. One that fails
 * later, or a client that stands still, ends the connection without the last chunk: nobody takes it for the whole.
 */
export async function sendStream(
  ctx: ApiContext,
  answer: StreamAnswer,
  idleMs = STREAM_IDLE_MS,
): Promise<void> {
  const { res } = ctx;
  const stopReading = () => answer.stream.destroy();
  if (ctx.method === 'HEAD') {
    stopReading();
    await answer.onAborted?.();
    ctx.respond = false;
    res.setHeader('Content-Type', answer.contentType);
    res.end();
    return;
  }
  res.once('close', stopReading);
  try {
    const chunks = answer.stream[Symbol.asyncIterator]() as AsyncIterator<Buffer | string, void>;
    const first = await firstOf(chunks);
    if (res.destroyed) throw new Error('the client is gone');
    await answer.onBegun?.();
    ctx.respond = false;
    res.setHeader('Content-Type', answer.contentType);
    await pipeline(chunksOf({ first, chunks, res, idleMs }), res);
  } catch (error) {
    await answer.onAborted?.();
    if (!ctx.res.headersSent && !res.destroyed) throw error;
    ctx.respond = false;
    ctx.state.log.info({ err: error, route: ctx.state.route }, 'a stream broke off');
    res.destroy();
  } finally {
    res.off('close', stopReading);
    stopReading();
  }
}

type Chunk = IteratorResult<Buffer | string, void>;

async function firstOf(chunks: AsyncIterator<Buffer | string, void>): Promise<Chunk> {
  try {
    return await chunks.next();
  } catch (cause) {
    if (cause instanceof FareboxError) throw cause;
    const message = 'This cannot be read at the moment. Please try again.';
    throw new FareboxError({ code: 'unavailable', message, cause });
  }
}

interface Sending {
  first: Chunk;
  chunks: AsyncIterator<Buffer | string, void>;
  res: ServerResponse;
  idleMs: number;
}

/** The next chunk is asked for when the client has taken the one before: that wait is what the idle time limits. */
async function* chunksOf({ first, chunks, res, idleMs }: Sending): AsyncGenerator<Buffer | string, void> {
  for (let chunk = first; !chunk.done; chunk = await chunks.next()) {
    const idle = setTimeout(() => res.destroy(new Error(`the client took nothing for ${idleMs} ms`)), idleMs);
    try {
      yield chunk.value;
    } finally {
      clearTimeout(idle);
    }
  }
}
