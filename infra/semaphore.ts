/** How many runs of a program that takes a whole core go on at the same time; the others wait in their order, and not for long. */
import { TooManyWait } from './tooBusy.ts';

export interface SemaphoreOptions {
  atOnce: number;
  maxWaiting: number;
  /** Whoever has not had his turn by then is turned away. */
  maxWaitMs: number;
}

export interface Semaphore {
  /** Throws TooManyWait where the queue is full or too slow, and the signal's reason when it is aborted meanwhile. */
  run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Turns for each key by itself, kept while somebody uses or waits for them. */
export interface KeyedSemaphore {
  run<T>(turn: { key: string; atOnce: number; signal?: AbortSignal | undefined }, work: () => Promise<T>): Promise<T>;
}

export function createKeyedSemaphore(options: Omit<SemaphoreOptions, 'atOnce'>): KeyedSemaphore {
  const turnsOf = new Map<string, { turns: Semaphore; users: number }>();
  return {
    async run({ key, atOnce, signal }, work) {
      const known = turnsOf.get(key);
      const shared = known ?? { turns: createSemaphore({ ...options, atOnce }), users: 0 };
      if (!known) turnsOf.set(key, shared);
      shared.users += 1;
      try {
        return await shared.turns.run(work, signal);
      } finally {
        shared.users -= 1;
        if (shared.users === 0) turnsOf.delete(key);
      }
    },
  };
}

export function createSemaphore({ atOnce, maxWaiting, maxWaitMs }: SemaphoreOptions): Semaphore {
  const waiting: (() => void)[] = [];
  let inside = 0;

  function turn(signal?: AbortSignal): Promise<void> {
    if (waiting.length >= maxWaiting) throw new TooManyWait('too many wait for their turn');
    return new Promise((resolve, reject) => {
      const over = () => {
        clearTimeout(expiry);
        signal?.removeEventListener('abort', leave);
      };
      const come = () => {
        over();
        resolve();
      };
      const leave = () => {
        over();
        waiting.splice(waiting.indexOf(come), 1);
        reject(signal?.aborted ? signal.reason : new TooManyWait('no turn in time'));
      };
      const expiry = setTimeout(leave, maxWaitMs);
      signal?.addEventListener('abort', leave, { once: true });
      waiting.push(come);
    });
  }

  return {
    async run(work, signal) {
      signal?.throwIfAborted();
      if (inside < atOnce) inside += 1;
      else await turn(signal);
      try {
        return await work();
      } finally {
        // A turn is handed on: nobody who comes now takes it from who waits.
        const next = waiting.shift();
        if (next) next();
        else inside -= 1;
      }
    },
  };
}
