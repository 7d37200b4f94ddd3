/** Sends server-sent events as they come (TEXT-20). */
import type { ServerResponse } from 'node:http';
import type { EventAnswer } from './answer.ts';
import type { ApiContext } from './requestState.ts';
import { STREAM_IDLE_MS } from './sendStream.ts';

/**
 * The producer learns that the client is gone, or reads nothing for too long. Shutdown, not the client, waits for what
 * the producer does then.
 */
export async function sendEvents(ctx: ApiContext, { tell }: EventAnswer, idleMs = STREAM_IDLE_MS): Promise<void> {
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
  /** False: the client reads more slowly. */
  write(text: string): boolean;
  end(): void;
}

/**
 * Node writes a chunk as four pieces, collected in a buffer. Written here as one text, a frame costs about a sixth less
 * (bench `chat`). An answer to HTTP/1.0 has no chunks.
 */
function bodyOf(res: ServerResponse): EventBody {
  if (!res.chunkedEncoding) return { write: (text) => text === '' || res.write(text), end: () => res.end() };
  res.chunkedEncoding = false;
  return {
    // An empty chunk would end the body.
    write: (text) => text === '' || res.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`),
    end: () => res.end('0\r\n\r\n'),
  };
}

/** Resolves to false when the client disconnected, or was cut off because it read nothing for too long. */
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
    // A response that is destroyed already emits no `close`.
    if (res.destroyed) close();
  });
}
