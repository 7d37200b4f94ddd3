/** Converts ledger requests and outcomes to and from the rows of the database functions. */
import { FareboxError } from '../../domain/errors.ts';
import type { LedgerPrice, Part, PriceSnapshot } from '../../domain/ledger.ts';
import type { Nano } from '../../domain/money.ts';

/** A row of `ledger_admit`, `ledger_resolve` or `ledger_refund`; bigint columns arrive as strings. */
export interface PartsRow {
  part_diem: string;
  part_bundled: string;
  part_usd: string;
}

export interface AdmitRow extends PartsRow {
  outcome: string;
  limited: 'usd' | 'diem' | null;
  state: string | null;
  replayed: boolean;
}

export interface AdmitRequest {
  operationId: string;
  accountId: string;
  keyId: string | null;
  price: LedgerPrice;
  ttlMs: number;
  snapshot: PriceSnapshot;
}

/** The arrays that `ledger_admit` takes, one per column. */
export function admitArguments(requests: readonly AdmitRequest[]): string[] {
  return [
    arrayText(requests, ({ operationId }) => quoted(operationId)),
    arrayText(requests, ({ accountId }) => accountId),
    arrayText(requests, ({ keyId }) => keyId ?? 'NULL'),
    arrayText(requests, ({ price }) => price.usd.toString()),
    arrayText(requests, ({ price }) => price.diem.toString()),
    arrayText(requests, ({ ttlMs }) => String(ttlMs)),
    arrayText(requests, ({ snapshot }) => quotedJson(snapshot)),
  ];
}

/** Array literal of Postgres: the library would traverse each element three times (bench `ledger`). */
export function arrayText<T>(items: readonly T[], write: (item: T) => string): string {
  let text = '';
  for (const item of items) text += text === '' ? write(item) : `,${write(item)}`;
  return `{${text}}`;
}

export function quoted(text: string): string {
  return `"${/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`;
}

/** JSON has no control characters, so escaping it again as JSON escapes it for an array. */
export function quotedJson(value: unknown): string {
  return JSON.stringify(storableJson(value));
}

/** Postgres stores every JSON text except these characters; one of them must not fail a batch. */
export function storableJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!/\\u(0000|d[89a-f])/i.test(text)) return text;
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' ? part.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\ufffd') : part,
  );
}

/** Non-zero parts, in spending order. */
export function toParts(row: PartsRow): Part[] {
  const parts: Part[] = [
    { currency: 'diem', amount: BigInt(row.part_diem) },
    { currency: 'bundled', amount: BigInt(row.part_bundled) },
    { currency: 'usd', amount: BigInt(row.part_usd) },
  ];
  return parts.filter((part) => part.amount > 0n);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const LARGEST: Nano = 2n ** 62n;
const MAX_TTL_MS = 90 * 86_400_000;

/**
 * A request on which the database would fail must not join a batch. Prices are checked here: a negative one would be a
 * gift.
 */
export function checkRequest(request: {
  operationId: string;
  accountId?: string | undefined;
  keyId?: string | null;
  price?: LedgerPrice;
  ttlMs?: number;
}): void {
  const wrong =
    (request.operationId.length === 0 && 'an empty operation id') ||
    (request.operationId.length > 200 && 'an operation id over 200 characters') ||
    (request.operationId.includes('\0') && 'a NUL in an operation id') ||
    (request.accountId !== undefined && !UUID.test(request.accountId) && 'an account id that is no UUID') ||
    (request.keyId && !UUID.test(request.keyId) && 'a key id that is no UUID') ||
    (request.ttlMs !== undefined && !isTtl(request.ttlMs) && 'an expiry that is not between 0 and 90 days') ||
    (request.price && !isPrice(request.price) && 'a price that is negative or beyond 2^62');
  if (wrong) throw badCall(wrong);
}

/** The operation that takes what exceeds a hold has the id of the hold and `:rest`. */
const MAX_HOLD_ID_LENGTH = 195;

export function checkHold(request: Parameters<typeof checkRequest>[0]): void {
  checkRequest(request);
  if (request.operationId.length > MAX_HOLD_ID_LENGTH) throw badCall('the id of a hold over 195 characters');
}

function badCall(wrong: string): FareboxError {
  return new FareboxError({
    code: 'internal',
    message: 'Internal error',
    internal: `ledger called with ${wrong}`,
  });
}

function isPrice(price: LedgerPrice): boolean {
  return price.usd >= 0n && price.diem >= 0n && price.usd < LARGEST && price.diem < LARGEST;
}

function isTtl(ttlMs: number): boolean {
  return Number.isSafeInteger(ttlMs) && ttlMs >= 0 && ttlMs <= MAX_TTL_MS;
}

/** An account without a row is that of a wallet without a top-up: it has no funds. */
export function hasNoFunds({ outcome }: Pick<AdmitRow, 'outcome'>): boolean {
  return outcome === 'insufficient' || outcome === 'no_account';
}

/** Error for an outcome that only a wrong call can have. */
export function misuseError(outcome: string | undefined, operationId: string): FareboxError {
  return new FareboxError({
    code: outcome === 'conflict' ? 'conflict' : 'internal',
    message: outcome === 'conflict' ? 'This operation id was already used.' : 'Internal error',
    internal: `ledger answered ${outcome ?? 'nothing'} for operation ${operationId}`,
  });
}
