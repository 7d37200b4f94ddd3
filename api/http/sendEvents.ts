/** Sends server-sent events as they come (TEXT-20). */
import type { ServerResponse } from 'node:http';
import type { EventAnswer } from './answer.ts';
import type { ApiContext } from './requestState.ts';
import { STREAM_IDLE_MS } from './sendStream.ts';

/**
 * Whoever makes the events learns that the client is gone, or takes nothing for too long; what is left to
 * do then is waited for by the shutdown of the process, not by the client.
 */
export async function sendEvents(
  ctx: ApiContext,
  { tell }: EventAnswer,
  idleMs = STREAM_IDLE_MS,
): Promise<void> {
  const { res, state } = ctx;
  ctx.respond = false;
  res.setHeader('Content-Type', 'text/event-stream');
  res.setHeader('X-Accel-Buffering', 'no');
  if (ctx.method === 'HEAD') {
    await tell(() => false);
    res.end();
    return;
  }
  res.flushHeaders();
  const body = bodyOf(res);
  try {
    await tell((text) => {
      if (res.destroyed) return false;
      return body.write(text) || drained(ctx, idleMs);
    });
    body.end();
  } catch (error) {
    state.log.info({ err: error, route: state.route }, 'events broke off');
    res.destroy();
  }
}

interface EventBody {
  /** False: the client is behind. */
  write(text: string): boolean;
  end(): void;
}

/**
 * Node sends a chunk as four pieces, gathered in a buffer of their own. Written here as one text, a frame costs about a
 * sixth less on its way out (bench `chat`). An answer to HTTP/1.0 has no chunks.
 */
function bodyOf(res: ServerResponse): EventBody {
  if (!res.chunkedEncoding) return { write: (text) => text === '' || res.write(text), end: () => res.end() };
  res.chunkedEncoding = false;
  return {
    // A chunk of nothing would be the last one.
    write: (text) => text === '' || res.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`),
    end: () => res.end('0\r\n\r\n'),
  };
}

/** Resolves with false when the client went away, or was cut off because it took nothing for too long. */
function drained({ res, state }: ApiContext, idleMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      state.log.info({ route: state.route }, `events broke off: the client took nothing for ${idleMs} ms`);
      res.destroy();
    }, idleMs);
    const over = (taken: boolean) => () => {
      clearTimeout(timer);
      res.off('drain', drain);
      res.off('close', close);
      resolve(taken);
    };
    const drain = over(true);
    const close = over(false);
    res.once('drain', drain);
    res.once('close', close);
    // One that is gone already closes no more.
    if (res.destroyed) close();
  });
}
