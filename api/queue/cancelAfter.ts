/** The client's own limit for a job: `Cancel-After` on the queue routes. */
import type { IncomingHttpHeaders } from 'node:http';
import { FareboxError } from '../../domain/errors.ts';

const MIN_MS = 5_000;
const MAX_MS = 24 * 3_600_000;
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** `30s`, `5m`, `1h` or seconds, from 5 seconds to 24 hours. Throws FareboxError `invalid_request` for all else. */
export function cancelAfterMs(headers: IncomingHttpHeaders): number | undefined {
  const header = headers['cancel-after'];
  if (header === undefined) return undefined;
  const [, digits, unit = 's'] = /^(\d{1,6})([smh])?$/.exec(String(header).trim()) ?? [];
  const ms = Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS];
  if (ms >= MIN_MS && ms <= MAX_MS) return ms;
  const message = 'Cancel-After must be a time from 5 seconds to 24 hours, such as 30s, 5m, 1h or 90';
  throw new FareboxError({ code: 'invalid_request', message, fields: { 'Cancel-After': [message] } });
}
