/** Calls in flight by account, in this process: each process counts for itself, at no cost for a call but this. */
export interface CallsInFlight {
  /** Undefined: the account has as many as it may. Otherwise to be called once when the answer has been sent. */
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
