/**
 * Reads a body as fast as it arrives, and keeps unread bytes up to a limit. undici 7 ends the whole process when a
 * server closes its connection while the reader is behind: an assertion in an event handler that nobody can catch
 * (nodejs/undici#5360). undici 8 fixes it, but needs Node 22; until then the reader is never waited for.
 */
import type { Dispatcher } from 'undici';
import { BodyTooLarge } from './saveBody.ts';

/** For `compose`. A larger body, by its encoded size, ends in `BodyTooLarge`. */
export function unpaused(maxBytes: number): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => dispatch(options, neverPausing(handler, maxBytes));
}

function neverPausing(handler: Dispatcher.DispatchHandler, maxBytes: number): Dispatcher.DispatchHandler {
  let receivedBytes = 0;
  let stop: (error: Error) => void = () => undefined;
  return {
    onConnect(abort) {
      receivedBytes = 0;
      stop = abort;
      handler.onConnect?.(abort);
    },
    onResponseStarted: () => handler.onResponseStarted?.(),
    onHeaders: (...head) => handler.onHeaders?.(...head) ?? true,
    onData(chunk) {
      receivedBytes += chunk.length;
      if (receivedBytes > maxBytes) stop(new BodyTooLarge(`more than ${maxBytes} bytes`));
      else handler.onData?.(chunk);
      return true;
    },
    onComplete: (trailers) => handler.onComplete?.(trailers),
    onError: (error) => handler.onError?.(error),
    onBodySent: (...sent) => handler.onBodySent?.(...sent),
    onUpgrade: (...upgrade) => handler.onUpgrade?.(...upgrade),
  };
}
