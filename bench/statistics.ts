/** Percentiles of a list of measurements. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Runs `count` turns with `lanes` of them in flight at any time; the wall time in milliseconds. */
export async function inLanes(lanes: number, count: number, turn: (index: number) => Promise<void>): Promise<number> {
  let next = 0;
  const startMs = performance.now();
  const lane = async () => {
    while (next < count) {
      next += 1;
      await turn(next);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return performance.now() - startMs;
}

/** Milliseconds that the work took. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/** A figure and what it must be at least or at most. */
type Bar = readonly [name: string, value: number, sign: '≥' | '≤', limit: number];

/** Prints each figure beside its bar. True when all are reached. */
export function reachesBars(bars: readonly Bar[]): boolean {
  for (const [name, value, sign, limit] of bars) console.log(`  ${name} (${sign} ${limit}): ${round(value)}`);
  return bars.every(([, value, sign, limit]) => (sign === '≥' ? value >= limit : value <= limit));
}

/** Two decimals are enough for any figure that is printed here. */
export function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** With fewer values, no two have the median between them with enough certainty. */
export const MIN_INTERVAL_VALUES = 6;

/**
 * The median of a sample, and two of its values that have the median of the population between them with at least 95 %
 * certainty, however it is distributed: as many values lie below it as a fair coin shows heads.
 */
export function medianInterval(values: readonly number[]): { low: number; median: number; high: number } {
  const sorted = [...values].sort((a, b) => a - b);
  const count = sorted.length;
  if (count < MIN_INTERVAL_VALUES) throw new Error(`${count} values have no interval of 95 %`);
  // The chance that exactly `below` values, or at most as many, lie below the median.
  let chance = 0.5 ** count;
  let cumulated = chance;
  let below = 0;
  for (;;) {
    chance *= (count - below) / (below + 1);
    if (2 * (cumulated + chance) > 0.05) break;
    cumulated += chance;
    below += 1;
  }
  const at = (index: number) => sorted[index] ?? Number.NaN;
  const median = (at(Math.floor((count - 1) / 2)) + at(Math.floor(count / 2))) / 2;
  return { low: at(below), median, high: at(count - 1 - below) };
}
