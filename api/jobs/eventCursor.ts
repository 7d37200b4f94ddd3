/**
 * `id:` of a job's events, a growing number: twice the number of the change, and one more for the end, which follows
 * the last change. So a client that lost the connection before the end gets it, and one that has it gets nothing again.
 */
import { invalid } from '../http/invalid.ts';

export interface EventCursor {
  /** Number of the last change that the client has. */
  seq: number;
  /** The client has the end as well. */
  ended: boolean;
}

export function changeId(seq: number): string {
  return String(2 * seq);
}

export function endId(seq: number): string {
  return String(2 * seq + 1);
}

/**
 * Reads the header `Last-Event-ID`; empty counts as absent. Throws FareboxError `invalid_request` for an invalid id.
 */
export function readCursor(header: string | string[] | undefined): EventCursor {
  const text = String(header ?? '').trim();
  if (text === '') return { seq: 0, ended: false };
  if (!/^[1-9]\d{0,8}$/.test(text)) refuseEventId();
  const id = Number(text);
  return { seq: Math.floor(id / 2), ended: id % 2 === 1 };
}

export function refuseEventId(): never {
  throw invalid('Last-Event-ID', 'No event of this job has this id; leave it out to get all of them');
}
