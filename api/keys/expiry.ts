/** Reads the time after which a key is refused. */

export type Expiry = { ok: true; at: Date } | { ok: false; problem: string };

/**
 * `text` has the form of a date or of a UTC time with seconds or milliseconds; a date alone is its first moment (UTC).
 * Refused: what is in no calendar.
 */
export function readExpiry(text: string): Expiry {
  const at = new Date(text);
  // Date.parse takes some days and hours that do not exist for the ones after them.
  if (Number.isNaN(at.getTime()) || !at.toISOString().startsWith(text.replace(/Z$/, ''))) {
    return { ok: false, problem: 'Must be a real date' };
  }
  return { ok: true, at };
}
