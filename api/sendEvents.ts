/** Sends server-sent events as they come (api-facts 12.1). */
import { once } from 'node:events';
import { type EventAnswer, endEvents } from './answer.ts';
import type { ApiContext } from './requestState.ts';
import { STREAM_IDLE_MS } from './sendStream.ts';
import type { InFlight } from './server/inFlight.ts';

/**
 * Whoever makes the events learns that the client is gone, or takes nothing for too long; what is left to
 * do then is waited for by the shutdown of the process, not by the client.
 */
export async function sendEvents(
  ctx: ApiContext,
  { events }: EventAnswer,
  inFlight: InFlight,
): Promise<void> {
  const { res } = ctx;
  ctx.respond = false;
  res.setHeader('Content-Type', 'text/event-stream');
  res.setHeader('X-Accel-Buffering', 'no');
  const end = () => inFlight.track(endEvents(events));
  res.once('close', end);
  try {
    res.flushHeaders();
    for await (const text of events) {
      if (res.destroyed) break;
      if (!res.write(text)) await taken(res);
    }
    res.off('close', end);
    res.end();
  } catch (error) {
    ctx.state.log.info({ err: error, route: ctx.state.route }, 'events broke off');
    res.destroy();
  }
}

async function taken(res: ApiContext['res']): Promise<void> {
  const tooLong = AbortSignal.timeout(STREAM_IDLE_MS);
  const gone = new AbortController();
  const leave = () => gone.abort();
  res.once('close', leave);
  try {
    await once(res, 'drain', { signal: AbortSignal.any([tooLong, gone.signal]) });
  } finally {
    res.off('close', leave);
  }
}
