import { randomUUID } from 'node:crypto';

/**
 * UUID of version 7 (RFC 9562): Unix milliseconds, then 74 random bits. A table partitioned by it is partitioned by
 * time and unique by the id alone, and an index on it grows at one end.
 */
export function timeOrderedId(): string {
  const time = timeDigits();
  // The random bits and the variant are those of version 4.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/** The same id as 32 hexadecimal digits. */
export function timeOrderedHex(): string {
  const random = randomUUID();
  return `${timeDigits()}7${random.slice(15, 18)}${random.slice(19, 23)}${random.slice(24)}`;
}

let writtenAt = 0;
let written = '';

/** Unix milliseconds as 12 hexadecimal digits, written once for all requests of a millisecond (bench `front`). */
function timeDigits(): string {
  const now = Date.now();
  if (now === writtenAt) return written;
  writtenAt = now;
  written = now.toString(16).padStart(12, '0');
  return written;
}
