/**
 * Checks latencies against bars that scale with the speed of the machine. Bars in milliseconds are valid where the bare
 * floor reaches `reference` requests per second on its core. On a slower machine they grow in proportion. On a faster one
 * they stay.
 */
import { round } from './statistics.ts';

export interface FloorRates {
  /** Requests per second of the bare floor in this run. */
  measured: number;
  /** Requests per second of the floor on the machine where the bars were set. */
  reference: number;
}

export interface LatencyBar {
  name: string;
  ms: number;
  barMs: number;
}

/** Prints a latency with its bar here. True when the bar is reached. */
export function reachesScaledBar({ measured, reference }: FloorRates, { name, ms, barMs }: LatencyBar): boolean {
  const hereMs = barMs * Math.max(1, reference / measured);
  const bars = `≤ ${barMs} where the floor does ${reference} req/s; ≤ ${round(hereMs)} at its ${Math.round(measured)} here`;
  console.log(`  ${name}, ms: ${round(ms)} (${bars})`);
  return ms <= hereMs;
}
