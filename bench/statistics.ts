/** Value at the given share (0 to 1) of the sorted values. NaN without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Runs `count` turns, at most `lanes` at a time. Resolves with the wall time in milliseconds. */
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

/** Resolves with the milliseconds of the work. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/** A figure with its minimum or maximum. */
type Bar = readonly [name: string, value: number, sign: '≥' | '≤', limit: number];

/** Prints each figure with its bar. True when all are reached. */
export function reachesBars(bars: readonly Bar[]): boolean {
  for (const [name, value, sign, limit] of bars) console.log(`  ${name} (${sign} ${limit}): ${round(value)}`);
  return bars.every(([, value, sign, limit]) => (sign === '≥' ? value >= limit : value <= limit));
}

export function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** With fewer values, no interval has a certainty of 95 %. */
export const MIN_INTERVAL_VALUES = 6;

/**
 * Median of a sample, with an interval of two sample values that contains the population's median with at least 95 %
 * certainty. Holds for any distribution: the number of values below the median is that of heads of a fair coin.
 */
export function medianInterval(values: readonly number[]): { low: number; median: number; high: number } {
  const sorted = [...values].sort((a, b) => a - b);
  const count = sorted.length;
  if (count < MIN_INTERVAL_VALUES) throw new Error(`${count} values have no interval of 95 %`);
  // `chance`: probability that exactly `below` values lie below the median. `cumulated`: at most as many.
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
