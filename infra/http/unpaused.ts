/**
 * Reads a body as fast as it comes, and keeps what its reader has not taken yet, up to a limit. undici 7 ends the whole
 * process when a server closes its connection while the reader is behind: an assertion in an event handler that nobody can
 * catch (nodejs/undici#5360). It is mended in undici 8, which needs Node 22; until then no reader is ever waited for.
 */
import type { Dispatcher } from 'undici';
import { BodyTooLarge } from './saveBody.ts';

/** For `compose`. A body that is larger, as it comes over the wire, ends in `BodyTooLarge`. */
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
