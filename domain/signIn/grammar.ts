/** Grammar of the fields in a sign-in's text by EIP-4361, RFC 3986 and RFC 3339; stricter where noted. */

const UNRESERVED = 'A-Za-z0-9\\-._~';
const SUB_DELIMS = "!$&'()*+,;=";
const ESCAPE = '%[0-9A-Fa-f]{2}';
const PCHAR = `(?:[${UNRESERVED}${SUB_DELIMS}:@]|${ESCAPE})`;
const NAME = `(?:[${UNRESERVED}${SUB_DELIMS}]|${ESCAPE})*`;
const USER = `(?:[${UNRESERVED}${SUB_DELIMS}:]|${ESCAPE})*@`;
const AUTHORITY = `(?:${USER})?(?:\\[[0-9A-Fa-f:.]{2,45}\\]|${NAME})(?::[0-9]*)?`;

const URI = new RegExp(
  `^[A-Za-z][A-Za-z0-9+.\\-]*:(?://${AUTHORITY}(?:/${PCHAR}*)*|(?!//)(?:${PCHAR}|/)+)(?:\\?(?:${PCHAR}|[/?])*)?(?:#(?:${PCHAR}|[/?])*)?$`,
);
/** An authority. Some clients add a protocol before it and a path after it. */
const DOMAIN = new RegExp(`^(?:[A-Za-z][A-Za-z0-9+.\\-]*://)?${AUTHORITY}(?:/${PCHAR}*)*$`);
/** reserved / unreserved / " ": no quotes, only ASCII. */
const STATEMENT = new RegExp(`^[${UNRESERVED}${SUB_DELIMS}:/?#[\\]@ ]+$`);
const REQUEST_ID = new RegExp(`^${PCHAR}+$`);
const HOST = '(\\[[0-9A-Fa-f:.]{2,45}\\]|[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)';
const DOMAIN_HOST = new RegExp(`^(?:https?://)?${HOST}(?::[0-9]{1,5})?(?:/.*)?$`);
const URI_HOST = new RegExp(`^[Hh][Tt][Tt][Pp][Ss]?://${HOST}(?::[0-9]{1,5})?(?:[/?#].*)?$`);
const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

/** Most characters per field. */
const MAX_LENGTHS = { domain: 300, uri: 2_048, statement: 1_024, requestId: 256 } as const;

export const NONCE = /^[A-Za-z0-9]{8,128}$/;
export const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/;
export const SOLANA_ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

export function isUri(text: string): boolean {
  return text.length <= MAX_LENGTHS.uri && URI.test(text);
}

export function isDomain(text: string): boolean {
  return text !== '' && text.length <= MAX_LENGTHS.domain && DOMAIN.test(text);
}

export function isStatement(text: string): boolean {
  return text.length <= MAX_LENGTHS.statement && STATEMENT.test(text);
}

/** At least one character; the grammar allows none. */
export function isRequestId(text: string): boolean {
  return text.length <= MAX_LENGTHS.requestId && REQUEST_ID.test(text);
}

/** Host in lower case, without protocol, port and path; undefined without one, or with a user before an @. */
export function hostOfDomain(domain: string): string | undefined {
  return DOMAIN_HOST.exec(domain)?.[1]?.toLowerCase();
}

/** Host in lower case; undefined for a scheme other than http and https, or with a user before an @. */
export function hostOfUri(uri: string): string | undefined {
  return URI_HOST.exec(uri)?.[1]?.toLowerCase();
}

/** Unix ms of an RFC 3339 time, truncated; undefined for any other text, also for 30 February and leap seconds. */
export function readDateTime(text: string): number | undefined {
  const parts = DATE_TIME.exec(text);
  if (!parts) return undefined;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number) as DateParts;
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > daysOf(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const [offsetHours, offsetMinutes] = [Number(parts[9] ?? 0), Number(parts[10] ?? 0)];
  if (offsetHours > 23 || offsetMinutes > 59) return undefined;
  const offsetMs = (offsetHours * 60 + offsetMinutes) * 60_000 * (parts[8] === '-' ? -1 : 1);
  const ms = Number((parts[7] ?? '').padEnd(3, '0').slice(0, 3));
  return Date.UTC(year, month - 1, day, hour, minute, second, ms) - offsetMs;
}

type DateParts = [number, number, number, number, number, number];

function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
