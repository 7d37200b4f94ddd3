/** Counts what must be finished before the process may end: requests, and work that outlives its answer. */

export interface InFlight {
  /** Set once, when the process was told to stop. */
  readonly draining: boolean;
  readonly count: number;
  enter(): () => void;
  /** Work that goes on after the answer; its failure is its own business. */
  track(work: Promise<unknown>): void;
  /** Resolves when nothing is in flight any more. */
  drain(): Promise<void>;
}

export function createInFlight(): InFlight {
  let draining = false;
  let count = 0;
  let onEmpty: (() => void) | undefined;

  function leave(): void {
    count -= 1;
    if (count === 0) onEmpty?.();
  }

  function enter(): () => void {
    count += 1;
    return leave;
  }

  return {
    get draining() {
      return draining;
    },
    get count() {
      return count;
    },
    enter,
    track(work) {
      enter();
      work.then(leave, leave);
    },
    drain() {
      draining = true;
      return new Promise((resolve) => {
        onEmpty = resolve;
        if (count === 0) resolve();
      });
    },
  };
}
