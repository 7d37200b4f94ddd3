const MINUTE_MS = 60_000;
const REPEATS = 2;

/**
 * For what is counted in a window of a minute by the clock of Redis. On a machine that stood still or was starved for longer
 * the counts have left the window, so a failure then shows nothing, and `body` runs again from its start.
 */
export async function withinMinute(body: () => Promise<void>): Promise<void> {
  for (let left = REPEATS; ; left -= 1) {
    const from = Date.now();
    try {
      return await body();
    } catch (error) {
      if (left === 0 || Date.now() - from < MINUTE_MS) throw error;
    }
  }
}
