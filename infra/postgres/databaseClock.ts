/**
 * What time it is in the database, without asking it: as it said when it was last read, carried on by a clock that nobody
 * sets. The wall clock of this machine may be hours off, and what ends or begins is decided by one clock only.
 */
export interface DatabaseClock {
  /** Unix ms; this machine's own clock for as long as nothing was read. */
  now(): number;
  /** The database has just said that it is this late. */
  set(at: Date): void;
}

export function createDatabaseClock(): DatabaseClock {
  let aheadOfProcessMs: number | undefined;
  return {
    now: () =>
      aheadOfProcessMs === undefined ? Date.now() : Math.round(performance.now() + aheadOfProcessMs),
    set(at) {
      aheadOfProcessMs = at.getTime() - performance.now();
    },
  };
}
