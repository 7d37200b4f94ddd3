/** Longer than this no job waits for a place; its own deadline ends it anyway. */
const LONGEST_MS = 10 * 60_000;

/** `Retry-After` in milliseconds: seconds or an HTTP date; undefined when absent or neither. Bounded. */
export function retryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  const pauseMs = /^\d{1,9}(\.\d+)?$/.test(text) ? Number(text) * 1_000 : dateMs(text) - nowMs;
  if (!Number.isFinite(pauseMs)) return undefined;
  return Math.min(LONGEST_MS, Math.max(0, Math.round(pauseMs)));
}

/** Only the form with a name of a day, as HTTP has it: Date.parse alone would read nearly anything as a date. */
function dateMs(text: string): number {
  return /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
}
