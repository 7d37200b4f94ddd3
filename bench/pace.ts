/**
 * Waits against the pace of the machine. The bars in milliseconds were set where the bare floor passes on so many requests a
 * second with its core; where it passes on fewer, everything else takes longer by as much. A quicker machine has as little
 * time as the one they were set on.
 */
import { round } from './statistics.ts';

export interface Pace {
  /** Requests a second of the bare floor, in this run. */
  floor: number;
  /** The same where the bars were set. */
  set: number;
}

export interface Wait {
  name: string;
  ms: number;
  barMs: number;
}

/** Says a wait, its bar, and what the bar comes to here; whether it was reached. */
export function reachesAtPace({ floor, set }: Pace, { name, ms, barMs }: Wait): boolean {
  const hereMs = barMs * Math.max(1, set / floor);
  const bars = `≤ ${barMs} where the floor does ${set} req/s; ≤ ${round(hereMs)} at its ${Math.round(floor)} here`;
  console.log(`  ${name}, ms: ${round(ms)} (${bars})`);
  return ms <= hereMs;
}
