/**
 * Estimates the time of the database without a query: its last known time, advanced by a monotonic clock. The wall
 * clock of this machine may be hours off, and start and end must be decided by one clock.
 */
export interface DatabaseClock {
  /** Unix ms; the clock of this machine until the first query. */
  now(): number;
  /** Sets the time that the database has just returned. */
  set(at: Date): void;
}

export function createDatabaseClock(): DatabaseClock {
  let aheadOfProcessMs: number | undefined;
  return {
    now: () => (aheadOfProcessMs === undefined ? Date.now() : Math.round(performance.now() + aheadOfProcessMs)),
    set(at) {
      aheadOfProcessMs = at.getTime() - performance.now();
    },
  };
}
