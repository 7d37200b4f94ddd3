/** Where a listing goes on. It names a place in the caller's own list only, so it needs no signature. */
import { refuseCursor } from '../paging.ts';

export interface Place {
  createdAt: Date;
  queueId: string;
}

const UUID = /^[0-9a-f-]{36}$/;

export function encodeCursor(place: Place): string {
  return Buffer.from(`${place.createdAt.toISOString()} ${place.queueId}`).toString('base64url');
}

/** Throws FareboxError `invalid_request` for anything that `encodeCursor` did not make. */
export function decodeCursor(cursor: string): Place {
  const [time = '', queueId = ''] = Buffer.from(cursor, 'base64url').toString('utf8').split(' ');
  const createdAt = new Date(time);
  if (
    UUID.test(queueId) &&
    !Number.isNaN(createdAt.getTime()) &&
    encodeCursor({ createdAt, queueId }) === cursor
  ) {
    return { createdAt, queueId };
  }
  return refuseCursor();
}
