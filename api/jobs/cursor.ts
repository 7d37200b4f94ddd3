/**
 * Cursor of a job list, with its filters. It names a position in the caller's own list only, so it needs no signature;
 * with other filters that position is meaningless, so it is refused.
 */
import { createHash } from 'node:crypto';
import type { JobFilters, JobPlace } from '../../infra/postgres/jobList.ts';
import { refuseCursor } from '../http/paging.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function encodeCursor(place: JobPlace, filters: JobFilters): string {
  const { createdAt, queueId } = place;
  return Buffer.from(`${createdAt.toISOString()} ${queueId} ${digestOf(filters)}`).toString('base64url');
}

/** Throws FareboxError `invalid_request` for anything that `encodeCursor` did not make for these filters. */
export function decodeCursor(cursor: string, filters: JobFilters): JobPlace {
  const [time = '', queueId = ''] = Buffer.from(cursor, 'base64url').toString('utf8').split(' ');
  const createdAt = new Date(time);
  const place = { createdAt, queueId };
  const isPlace = UUID.test(queueId) && !Number.isNaN(createdAt.getTime());
  return isPlace && encodeCursor(place, filters) === cursor ? place : refuseCursor();
}

/** Canonical text of the filters, independent of order and repetition. */
function digestOf({ kinds, models, states, createdAfter, createdBefore, order }: JobFilters): string {
  const sets = [kinds, models, states].map((values) => (values ? [...new Set(values)].sort() : null));
  const times = [createdAfter, createdBefore].map((time) => time?.toISOString() ?? null);
  const text = JSON.stringify([...sets, ...times, order]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}
