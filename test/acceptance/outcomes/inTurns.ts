/** Runs work in the order of calls, with a limit on concurrency. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

export function inTurns(most: number): InTurn {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      // The longest waiter takes the slot without freeing it.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
