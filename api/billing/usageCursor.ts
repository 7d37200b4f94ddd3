/**
 * Cursor of the usage history. It carries the query of the first page, the horizon and the position; its signature
 * covers these and the account, so it is valid for nobody else and nothing else.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { FareboxError } from '../../domain/errors.ts';
import type { UsagePlace, UsageRange } from '../../infra/postgres/usageHistory.ts';
import { INVALID_CURSOR } from '../http/paging.ts';

export interface UsageCursor {
  range: UsageRange;
  pageSize: number;
  /** Value of `usageHorizon` at the first page. */
  horizon: string;
  /** Null: the start. */
  after: UsagePlace | null;
}

const MAC_BYTES = 32;
/** Purpose and version of the cursor, part of its signature. */
const PURPOSE = 'usage-history 1';

const content = z.tuple([
  z.string().nullable(),
  z.string().nullable(),
  z.enum(['usd', 'diem', 'bundled']).nullable(),
  z.int(),
  z.string(),
  z.string(),
  z.string(),
]);

export function encodeUsageCursor(key: Buffer, walk: UsageCursor & { after: UsagePlace }): string {
  const { range, pageSize, horizon, after } = walk;
  const { from, to, currency } = range;
  const text = JSON.stringify([from, to, currency, pageSize, horizon, after.at, after.id]);
  const payload = Buffer.from(text);
  return Buffer.concat([sign(key, range.accountId, payload), payload]).toString('base64url');
}

/** Throws FareboxError `invalid_request` unless `encodeUsageCursor` made it for this account. */
export function decodeUsageCursor(key: Buffer, accountId: string, cursor: string): UsageCursor {
  const bytes = Buffer.from(cursor, 'base64url');
  // The last character of base64url can have unused bits: two texts must not be one cursor.
  if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== cursor) throw invalid();
  const payload = bytes.subarray(MAC_BYTES);
  if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), sign(key, accountId, payload))) throw invalid();
  const [from, to, currency, pageSize, horizon, at, id] = content.parse(JSON.parse(payload.toString()));
  return { range: { accountId, from, to, currency }, pageSize, horizon, after: { at, id } };
}

function sign(key: Buffer, accountId: string, payload: Buffer): Buffer {
  return createHmac('sha256', key).update(`${PURPOSE}\0${accountId}\0`).update(payload).digest();
}

function invalid(): FareboxError {
  const fields = { cursor: [INVALID_CURSOR] };
  return new FareboxError({ code: 'invalid_request', message: INVALID_CURSOR, fields });
}
