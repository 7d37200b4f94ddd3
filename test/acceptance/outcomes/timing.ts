/** Times of the table: long enough for a busy machine, and every row ends within a minute. */
export const TIMEOUTS = { connectMs: 60_000, firstByteMs: 5_000, idleMs: 3_000 };
export const DEADLINE_MS = 45_000;
export const POLL_FIRST_MS = 300;
export const POLL_LONGEST_MS = 1_500;
/** Maximum polls of a step. The first four pauses are shorter, and the first poll has none before it. */
export const MAX_POLLS = Math.ceil(DEADLINE_MS / POLL_LONGEST_MS) + 5;
