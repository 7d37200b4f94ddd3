/** The ledger between two times: rules of single rows, sums of transfers, and hashes of rows. */
import { SLICE_RULES } from './ledgerInvariants.ts';
import { type Finding, findBroken, type SnapshotReader, type SnapshotRow } from './ledgerSnapshots.ts';
import { ARCHIVED_OPERATION_RULES, OPERATION_RULES } from './operationInvariants.ts';

/** Unix ms, `to` exclusive; infinite at the ends. */
export interface Slice {
  from: number;
  to: number;
}

export interface SliceReport {
  findings: Finding[];
  /** Operations whose hold was settled, without a transfer in this slice: it must come in a later one. */
  settledLater: string[];
  /** Operations of earlier slices whose transfers are in this one. */
  settledHere: string[];
}

/** The rules of one slice, in two halves that take about as long as each other and may be read side by side. */
export function checksOf(
  slice: Slice,
  report: (found: SliceReport) => void,
  { isArchived = false } = {},
): ((read: SnapshotReader) => Promise<void>)[] {
  const values = rangeOf(slice);
  const checkOperations = async (read: SnapshotReader) => {
    const settledLater: string[] = [];
    const settledHere: string[] = [];
    const set = isArchived ? ARCHIVED_OPERATION_RULES : OPERATION_RULES;
    const findings = await findBroken(read, { set, values }, (row) => {
      if (row.settled_later === true) settledLater.push(String(row.operation_id));
      if (row.earlier === true) settledHere.push(String(row.operation_id));
    });
    report({ findings, settledLater, settledHere });
  };
  const checkRows = async (read: SnapshotReader) => {
    for (const set of SLICE_RULES) {
      report({ findings: await findBroken(read, { set, values }), settledLater: [], settledHere: [] });
    }
  };
  return [checkOperations, checkRows];
}

/** Amount moved for one account and key, in one currency, booked to one day. */
export interface BookedSum {
  accountId: string;
  keyId: string | null;
  currency: string;
  bookedDay: string;
  amount: bigint;
}

/** Part of a sum: the transfers of one kind that were created on one UTC day. */
export interface KindSum extends BookedSum {
  kind: string;
  rows: HashedRows;
}

/** Rows that were created on one UTC day. */
export interface HashedRows {
  day: string;
  count: number;
  /** Sum of the hashes; 0 when none were requested. */
  hash: bigint;
}

/**
 * Columns that never change once the day of a row is over. Columns that a later migration adds do not change an old hash. The
 * refund of an operation comes later, as a row of its own. The hash of many rows is the sum of a 64-bit hash of each row. It
 * needs no order and takes a third of the time of SHA-256 (bench `ledger-check`). It finds damage, but it is no proof against
 * an owner of the database who constructs rows for it.
 */
const HASHED = {
  transfers: 'id, created_at, operation_id, kind, account_id, house, currency, amount, day, key_id, details, sold',
  operations: `operation_id, kind, account_id, state, day, key_id, parent_key_id, price_usd, price_diem, held_diem,
    held_bundled, held_usd, diem, bundled, usd, created_at`,
  jobs: 'queue_id, account_id, price_usd_nano, charge_operation_id, created_at',
} as const;
export type HashedTable = keyof typeof HASHED;

const CREATED_DAY = `(created_at at time zone 'UTC')::date`;

/** The hash of a record is linear in those of its columns. The second hash detects values exchanged between rows. */
function hashOf(table: HashedTable): string {
  return `sum(hashtextextended(hash_record_extended(row(${HASHED[table]}), 0)::text, 0))`;
}

export async function sumSlice(
  read: SnapshotReader,
  slice: Slice,
  { hashed }: { hashed: boolean },
): Promise<KindSum[]> {
  const rows = await read(
    `select account_id, key_id, currency, kind, day::text, ${CREATED_DAY}::text as created_day, sum(amount)::text as amount,
        count(*)::int as count, ${hashed ? hashOf('transfers') : '0'}::text as hash
      from transfers where created_at >= $1 and created_at < $2
      group by account_id, key_id, currency, kind, day, ${CREATED_DAY}`,
    rangeOf(slice),
  );
  return rows.map((row) => ({
    kind: String(row.kind),
    accountId: String(row.account_id),
    keyId: row.key_id === null ? null : String(row.key_id),
    currency: String(row.currency),
    bookedDay: String(row.day),
    amount: BigInt(String(row.amount)),
    rows: hashedRows(row),
  }));
}

export async function hashSlice(read: SnapshotReader, table: HashedTable, slice: Slice): Promise<HashedRows[]> {
  const rows = await read(
    `select ${CREATED_DAY}::text as created_day, count(*)::int as count, ${hashOf(table)}::text as hash
      from ${table} where created_at >= $1 and created_at < $2 group by ${CREATED_DAY}`,
    rangeOf(slice),
  );
  return rows.map(hashedRows);
}

function hashedRows(row: SnapshotRow): HashedRows {
  return { day: String(row.created_day), count: Number(row.count), hash: BigInt(String(row.hash)) };
}

export function rangeOf({ from, to }: Slice): [string, string] {
  return [timestampOf(from), timestampOf(to)];
}

export function timestampOf(ms: number): string {
  if (Number.isFinite(ms)) return new Date(ms).toISOString();
  return ms > 0 ? 'infinity' : '-infinity';
}

const DAY_MS = 86_400_000;

export function startOfDay(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}

export function endOfDay(day: string): number {
  return startOfDay(day) + DAY_MS;
}

/** UTC days of a slice, with the days that it covers in part. */
export function daysOf({ from, to }: Slice): string[] {
  const days: string[] = [];
  for (let at = from; at < to; at = endOfDay(dayOf(at))) days.push(dayOf(at));
  return days;
}

/** The UTC day of a time in Unix ms. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
