import { randomUUID } from 'node:crypto';

/**
 * A UUID of version 7 (RFC 9562): Unix milliseconds, then 74 random bits. Rows that are partitioned by such an id are
 * partitioned by time and stay unique by the id alone, and an index on it grows at one end.
 */
export function timeOrderedId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  // The random bits and the variant are those of version 4.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
