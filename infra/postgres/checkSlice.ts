/** The books between two times: the rules of single rows, and what the transfers come to. */
import { SLICE_RULES } from './ledgerInvariants.ts';
import { type Finding, findBroken, type Read } from './ledgerSnapshots.ts';
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
): ((read: Read) => Promise<void>)[] {
  const values = rangeOf(slice);
  const checkOperations = async (read: Read) => {
    const settledLater: string[] = [];
    const settledHere: string[] = [];
    const set = isArchived ? ARCHIVED_OPERATION_RULES : OPERATION_RULES;
    const findings = await findBroken(read, { set, values }, (row) => {
      if (row.settled_later === true) settledLater.push(String(row.operation_id));
      if (row.earlier === true) settledHere.push(String(row.operation_id));
    });
    report({ findings, settledLater, settledHere });
  };
  const checkRows = async (read: Read) => {
    for (const set of SLICE_RULES) {
      report({ findings: await findBroken(read, { set, values }), settledLater: [], settledHere: [] });
    }
  };
  return [checkOperations, checkRows];
}

/** What moved for one account and key, in one currency, booked to one day. */
export interface BookedSum {
  accountId: string;
  keyId: string | null;
  currency: string;
  bookedDay: string;
  amount: bigint;
}

/** The part of a sum that transfers of one kind moved. */
export interface KindSum extends BookedSum {
  kind: string;
}

export async function sumSlice(read: Read, slice: Slice): Promise<KindSum[]> {
  const rows = await read(
    `select account_id, key_id, currency, kind, day::text, sum(amount)::text as amount from transfers
      where created_at >= $1 and created_at < $2 group by account_id, key_id, currency, kind, day`,
    rangeOf(slice),
  );
  return rows.map((row) => ({
    kind: String(row.kind),
    accountId: String(row.account_id),
    keyId: row.key_id === null ? null : String(row.key_id),
    currency: String(row.currency),
    bookedDay: String(row.day),
    amount: BigInt(String(row.amount)),
  }));
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

/** The UTC day of a time in Unix ms. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
