/** Runs what it is given, so many at a time, in the order of asking. */
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
      // The place goes to who waits longest, without being free in between.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
