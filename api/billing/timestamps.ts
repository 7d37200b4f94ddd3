/** Parses times of clients: ISO 8601 in UTC with up to nine decimals, as exact nanoseconds. */

const ISO = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?Z$/;
const MAX_CHARACTERS = 40;
const LAST_MICROSECOND = '9999-12-31T23:59:59.999999Z';

/** Nanoseconds since 1970; undefined unless it is a time of the years 1 to 9999 in this form. */
export function parseTimestamp(text: string): bigint | undefined {
  const match = text.length <= MAX_CHARACTERS ? ISO.exec(text) : null;
  if (!match) return undefined;
  const [, date = '', time = '', fraction = ''] = match;
  const ms = Date.parse(`${date}T${time}Z`);
  // `Date.parse` accepts some dates that do not exist as later ones; Postgres has no year 0.
  if (Number.isNaN(ms) || date.startsWith('0000')) return undefined;
  if (new Date(ms).toISOString().slice(0, 19) !== `${date}T${time}`) return undefined;
  return BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0'));
}

/**
 * Rounds up to a microsecond. For a bound of a range, inclusive or exclusive, that changes nothing: ledger times are
 * whole microseconds.
 */
export function toMicroseconds(nanoseconds: bigint): string {
  const micros = nanoseconds / 1_000n + (nanoseconds > 0n && nanoseconds % 1_000n > 0n ? 1n : 0n);
  const within = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const date = new Date(Number((micros - within) / 1_000n)).toISOString();
  if (date.length !== 24) return LAST_MICROSECOND;
  return `${date.slice(0, 20)}${within.toString().padStart(6, '0')}Z`;
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DAY_MS = 86_400_000;

/** Days since 1970 of `YYYY-MM-DD`; undefined unless it is a date of the years 1 to 9999. */
export function parseDay(text: string): number | undefined {
  if (!DATE.test(text) || text.startsWith('0000')) return undefined;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(ms) && formatDay(ms / DAY_MS) === text ? ms / DAY_MS : undefined;
}

export function formatDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

export function dayStartMs(day: number): number {
  return day * DAY_MS;
}
