/** Counts work that must end before the process may: requests, and work that outlives its answer. */
import { setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';

export interface InFlight {
  /** True once the process was told to stop. */
  readonly draining: boolean;
  /** Aborted at that moment: answers that could last for an hour end. */
  readonly stopping: AbortSignal;
  /** Aborted some time later: streamed answers end with what they have. */
  readonly ending: AbortSignal;
  /** Aborted right before the process closes the remaining connections, whose clients are still there. */
  readonly cutting: AbortSignal;
  readonly count: number;
  enter(): () => void;
  /** Counts a response until the returned function is called. */
  enterResponse(res: ServerResponse): () => void;
  /** Tracks work that goes on after the answer; its errors are ignored here. */
  track(work: Promise<unknown>): void;
  /** Aborts `ending`. */
  end(): void;
  /**
   * Aborts `cutting` and destroys open responses. A closed socket emits `close` only after the event loop has polled
   * again. Until then a handler whose upstream replies would take its client for connected, and bill it.
   */
  cut(): void;
  /** Resolves when nothing is in flight. */
  drain(): Promise<void>;
}

export function createInFlight(): InFlight {
  const stop = new AbortController();
  const end = new AbortController();
  const cut = new AbortController();
  // Each open stream adds a listener and removes it.
  setMaxListeners(0, stop.signal, end.signal);
  let count = 0;
  const waiting = new Set<() => void>();
  const responses = new Set<ServerResponse>();

  function leave(): void {
    count -= 1;
    if (count > 0) return;
    for (const resolve of waiting) resolve();
    waiting.clear();
  }

  function enter(): () => void {
    count += 1;
    return leave;
  }

  return {
    get draining() {
      return stop.signal.aborted;
    },
    stopping: stop.signal,
    ending: end.signal,
    cutting: cut.signal,
    get count() {
      return count;
    },
    enter,
    enterResponse(res) {
      enter();
      responses.add(res);
      return () => {
        responses.delete(res);
        leave();
      };
    },
    track(work) {
      enter();
      work.then(leave, leave);
    },
    end: () => end.abort(),
    cut() {
      cut.abort();
      for (const res of responses) res.destroy();
    },
    drain() {
      stop.abort();
      return count === 0 ? Promise.resolve() : new Promise((resolve) => waiting.add(resolve));
    },
  };
}
