/** Limits concurrent runs of work that takes a whole core; others wait in order, for a limited time. */
import { TooManyWait } from './tooBusy.ts';

export interface SemaphoreOptions {
  atOnce: number;
  maxWaiting: number;
  /** Work that has not begun by then is refused. */
  maxWaitMs: number;
}

export interface Semaphore {
  /** Throws TooManyWait when the queue is full or too slow, and the signal's reason when it is aborted. */
  run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** One semaphore per key, kept while the key is in use. */
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
        // The place goes to the oldest waiting work: new work cannot overtake it.
        const next = waiting.shift();
        if (next) next();
        else inside -= 1;
      }
    },
  };
}
