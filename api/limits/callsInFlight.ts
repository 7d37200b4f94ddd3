/** Counts the calls in flight of an account in this process; processes do not share it. */
export interface CallsInFlight {
  /** Undefined: the account has reached its limit. Otherwise a function to call when the answer was sent. */
  enter(accountId: string, most: number): (() => void) | undefined;
}

export function createCallsInFlight(): CallsInFlight {
  const counts = new Map<string, number>();
  return {
    enter(accountId, most) {
      const before = counts.get(accountId) ?? 0;
      if (before >= most) return undefined;
      counts.set(accountId, before + 1);
      return () => {
        const left = (counts.get(accountId) ?? 1) - 1;
        if (left === 0) counts.delete(accountId);
        else counts.set(accountId, left);
      };
    },
  };
}
