/** Work of which only so much is done at once; the rest waits in line, neither long nor for long. */

export interface TurnLimits {
  atOnce: number;
  mostWaiting: number;
  longestWaitMs: number;
}

export interface Turns {
  /** Throws NoTurn when the line is too long or does not move; what the signal says when nobody waits any more. */
  take<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

export class NoTurn extends Error {}

export function createTurns({ atOnce, mostWaiting, longestWaitMs }: TurnLimits): Turns {
  const line: (() => void)[] = [];
  let running = 0;

  function inLine(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (reason: unknown) => {
        over();
        line.splice(line.indexOf(turn), 1);
        reject(reason);
      };
      const turn = () => {
        over();
        resolve();
      };
      const abort = () => leave(signal.reason);
      const expiry = setTimeout(() => leave(new NoTurn(`no turn in ${longestWaitMs} ms`)), longestWaitMs);
      const over = () => {
        clearTimeout(expiry);
        signal.removeEventListener('abort', abort);
      };
      signal.addEventListener('abort', abort, { once: true });
      line.push(turn);
    });
  }

  return {
    async take(work, signal) {
      signal.throwIfAborted();
      // A turn that ends is handed on: `running` counts it for whoever is next.
      if (running >= atOnce) {
        if (line.length >= mostWaiting) throw new NoTurn(`${line.length} wait already`);
        await inLine(signal);
      } else running += 1;
      try {
        return await work();
      } finally {
        const next = line.shift();
        if (next) next();
        else running -= 1;
      }
    },
  };
}
