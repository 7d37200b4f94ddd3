/** Percentiles of a list of measurements. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Runs `count` turns with `lanes` of them in flight at any time; the wall time in milliseconds. */
export async function inLanes(
  lanes: number,
  count: number,
  turn: (index: number) => Promise<void>,
): Promise<number> {
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

/** Two decimals are enough for any figure that is printed here. */
export function round(value: number): number {
  return Math.round(value * 100) / 100;
}
