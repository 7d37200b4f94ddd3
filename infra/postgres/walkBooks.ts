/** Reads the ledger slice by slice in the order of time: violations, sums, and days to be sealed. */
import { BookedSums } from './bookedSums.ts';
import {
  checksOf,
  dayOf,
  daysOf,
  endOfDay,
  type HashedTable,
  hashSlice,
  rangeOf,
  type Slice,
  type SliceReport,
  startOfDay,
  sumSlice,
  timestampOf,
} from './checkSlice.ts';
import { DayRecord, unsealedFrom, verifySeal } from './ledgerSeals.ts';
import { type Findings, inSnapshot, inSnapshots, type SnapshotReader } from './ledgerSnapshots.ts';
import type { SqlClient } from './pool.ts';
import { ARCHIVED_RANGES } from './ruleTerms.ts';

/** Times in Unix ms, each the start of a day but `summedUntil`. */
export interface CheckExtent {
  first: number;
  /** Later transfers may still be uncommitted: they are not summed here. */
  summedUntil: number;
  /** First unsealed day; null: no day is sealed. */
  unsealedFrom: string | null;
  /** Days before this cannot change any more and may be sealed. */
  closedUntil: number;
  /** Transfers before it are archived; minus infinity: none are. */
  archivedUntil: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;
/** Longer than any transaction of the ledger may take. */
const COMMIT_MARGIN_MS = MINUTE_MS;
/** Longer than any hold may last and any transaction may take, including a clock that was set back a little. */
const CLOSING_MARGIN_MS = 120 * MINUTE_MS;

/** A day with an open hold or a running job is not over: it may still be settled or refunded. */
const OPEN_ROWS = `select extract(epoch from ledger_now())::float8 * 1000 as now, extract(epoch from least(
    (select min(o.created_at) from holds h join operations o on o.operation_id = h.operation_id and o.kind = 'charge'),
    (select min(created_at) from jobs where state in ('accepted', 'submitted'))))::float8 * 1000 as open_since`;

const ARCHIVED_UNTIL = `select extract(epoch from until)::float8 * 1000 as until from ${ARCHIVED_RANGES} a
  where since is null and until is not null`;

export async function readExtent(
  sql: SqlClient,
  { full, seal }: { full: boolean; seal: boolean },
): Promise<CheckExtent> {
  const { unsealed, now, openSince, archivedUntil } = await inSnapshot(sql, readMarks);
  const committedUntil = floorToMinute(now - COMMIT_MARGIN_MS);
  const first = full || unsealed === null ? await findFirstDay(sql, committedUntil) : startOfDay(unsealed);
  return {
    first,
    summedUntil: Math.max(first, committedUntil),
    unsealedFrom: unsealed,
    closedUntil: seal ? startOfDay(dayOf(Math.min(now - CLOSING_MARGIN_MS, openSince))) : first,
    archivedUntil,
  };
}

async function readMarks(read: SnapshotReader) {
  const unsealed = await unsealedFrom(read);
  const [open] = await read(OPEN_ROWS);
  const [archived] = await read(ARCHIVED_UNTIL);
  return {
    unsealed,
    now: Number(open?.now),
    openSince: typeof open?.open_since === 'number' ? open.open_since : Number.POSITIVE_INFINITY,
    archivedUntil: typeof archived?.until === 'number' ? archived.until : Number.NEGATIVE_INFINITY,
  };
}

const EARLIEST_DAY = startOfDay('0001-01-01');
const ROWS_BEFORE = `select exists (select from transfers where created_at < $1)
    or exists (select from operations where created_at < $1) or exists (select from jobs where created_at < $1)
    or exists (select from top_ups where changed_at < $1) or exists (select from sealed_days where day < ($1 at time zone 'UTC')::date) as found`;

/** Start of the first day of the books. A binary search, because the minimum over a table would scan all of it. */
async function findFirstDay(sql: SqlClient, end: number): Promise<number> {
  let low = EARLIEST_DAY;
  let high = startOfDay(dayOf(end));
  while (low < high) {
    const middle = low + Math.ceil((high - low) / 2 / DAY_MS) * DAY_MS;
    const [row] = await inSnapshot(sql, (read) => read(ROWS_BEFORE, [timestampOf(middle)]));
    if (row?.found === true) high = middle - DAY_MS;
    else low = middle;
  }
  return low;
}

function floorToMinute(ms: number): number {
  return Math.floor(ms / MINUTE_MS) * MINUTE_MS;
}

interface WalkScope {
  extent: CheckExtent;
  /** Violations are added to it. */
  findings: Findings;
}

export interface WalkedBooks {
  /** Sums of unsealed rows, until `summedUntil`. */
  sums: BookedSums;
  /** Settled operations without a transfer in any slice. */
  unmoved: string[];
  /** Days that are over, oldest first. */
  sealable: DayRecord[];
}

/** Most sums that one check seals; later checks seal the remaining days. */
const MAX_SEALED_SUMS = 1_000_000;
const MAX_SLICE_MS = 3_650 * DAY_MS;

export async function walkBooks(sql: SqlClient, { extent, findings }: WalkScope): Promise<WalkedBooks> {
  const walk = new Walk(sql, { extent, findings });
  const slices: Slice[] = [];
  let lengthMs = MAX_SLICE_MS;
  const fitNext = async (read: SnapshotReader, from: number) => {
    if (from >= extent.summedUntil) return;
    const ends = [...boundariesOf(extent).filter((at) => at > from), from + lengthMs];
    const { to, rows } = await fitSlice(read, { from, to: Math.min(...ends) });
    // The length at which the next slice has nine tenths of the limit, at the same rate.
    const fullMs = ((to - from) * 0.9 * MAX_SLICE_ROWS) / Math.max(rows, 1);
    lengthMs = Math.min(Math.max(floorToMinute(fullMs), MINUTE_MS), MAX_SLICE_MS);
    slices.push({ from, to });
  };
  await inSnapshot(sql, (read) => fitNext(read, extent.first));
  for (let slice = slices.shift(); slice; slice = slices.shift()) {
    const { to } = slice;
    await walk.readSlice(slice, (read) => fitNext(read, to));
  }
  return await walk.finish({ from: extent.summedUntil, to: Number.POSITIVE_INFINITY });
}

/** Slices end at these times, so that all days of a slice are archived, sealed, to be sealed or open. */
function boundariesOf({ archivedUntil, unsealedFrom, closedUntil, summedUntil }: CheckExtent): number[] {
  const unsealed = unsealedFrom === null ? [] : [startOfDay(unsealedFrom)];
  return [archivedUntil, ...unsealed, closedUntil, summedUntil];
}

/** Some hundred milliseconds of work for the database: no snapshot lasts long (bench `ledger-check`). */
const MAX_SLICE_ROWS = 200_000;

/** End of the part of a slice that is read at once, from its start, and the row count of the larger table in it. */
async function fitSlice(read: SnapshotReader, { from, to }: Slice): Promise<{ to: number; rows: number }> {
  for (let end = to; ; end = from + Math.max(floorToMinute((end - from) / 4), MINUTE_MS)) {
    const rows = await countRows(read, { from, to: end });
    if (rows <= MAX_SLICE_ROWS || end - from <= MINUTE_MS) return { to: end, rows };
  }
}

/** Counts up to one above the limit. */
async function countRows(read: SnapshotReader, slice: Slice): Promise<number> {
  let most = 0;
  for (const table of ['transfers', 'operations']) {
    const [row] = await read(
      `select count(*)::int as rows from (
        select from ${table} where created_at >= $1 and created_at < $2 limit ${MAX_SLICE_ROWS + 1}) r`,
      rangeOf(slice),
    );
    most = Math.max(most, Number(row?.rows));
    if (most > MAX_SLICE_ROWS) break;
  }
  return most;
}

class Walk {
  readonly #sql: SqlClient;
  readonly #extent: CheckExtent;
  readonly #findings: Findings;
  readonly #sums = new BookedSums();
  readonly #unmoved = new Set<string>();
  /** Days in progress, oldest first. */
  readonly #records = new Map<string, DayRecord>();
  readonly #sealable: DayRecord[] = [];
  #sealedSums = 0;

  constructor(sql: SqlClient, { extent, findings }: WalkScope) {
    this.#sql = sql;
    this.#extent = extent;
    this.#findings = findings;
  }

  /** Meanwhile `fitNext` finds the end of the next slice. */
  async readSlice(slice: Slice, fitNext: (read: SnapshotReader) => Promise<void>): Promise<void> {
    const isSealed = this.#isSealed(dayOf(slice.from));
    const isArchived = isSealed && slice.from < this.#extent.archivedUntil;
    for (const day of daysOf(slice)) this.#openRecord(day);
    const hashed = this.#records.size > 0;
    const sum = async (read: SnapshotReader) => {
      const sums = await sumSlice(read, slice, { hashed });
      for (const each of sums) this.#records.get(each.rows.day)?.addSum(each);
      if (!isSealed) this.#sums.add(sums);
    };
    const hash = (table: HashedTable) => async (read: SnapshotReader) => {
      for (const rows of await hashSlice(read, table, slice)) this.#records.get(rows.day)?.addRows(table, rows);
    };
    await inSnapshots(this.#sql, [
      // The transfers of an archived slice are not in the database. Its operations, jobs and payments are.
      ...checksOf(slice, isArchived ? this.#noteArchived : this.#note, { isArchived }),
      ...(isArchived ? [] : [sum]),
      ...(hashed ? [hash('operations'), hash('jobs')] : []),
      fitNext,
    ]);
    await this.#endDays(slice.to, { isArchived });
  }

  /** Newest rows, which are summed with the balances. */
  async finish(slice: Slice): Promise<WalkedBooks> {
    await inSnapshot(this.#sql, async (read) => {
      for (const check of checksOf(slice, this.#note)) await check(read);
    });
    return { sums: this.#sums, unmoved: [...this.#unmoved], sealable: this.#sealable };
  }

  /** Charges of an archived month have no transfers to wait for. */
  readonly #noteArchived = ({ findings }: SliceReport): void => this.#findings.add(findings);

  readonly #note = ({ findings, settledLater, settledHere }: SliceReport): void => {
    this.#findings.add(findings);
    for (const id of settledLater) this.#unmoved.add(id);
    for (const id of settledHere) this.#unmoved.delete(id);
  };

  #isSealed(day: string): boolean {
    return this.#extent.unsealedFrom !== null && day < this.#extent.unsealedFrom;
  }

  #openRecord(day: string): void {
    const mayBeSealed = endOfDay(day) <= this.#extent.closedUntil && this.#sealedSums < MAX_SEALED_SUMS;
    if (this.#records.has(day) || !(this.#isSealed(day) || mayBeSealed)) return;
    this.#records.set(day, new DayRecord(day));
  }

  /** Completes the records of fully read days. */
  async #endDays(to: number, { isArchived }: { isArchived: boolean }): Promise<void> {
    for (const [day, record] of this.#records) {
      if (endOfDay(day) > to) return;
      this.#records.delete(day);
      if (this.#isSealed(day)) {
        this.#findings.add(await inSnapshot(this.#sql, (read) => verifySeal(read, record, { isArchived })));
      } else {
        this.#sealedSums += record.sums.size;
        this.#sealable.push(record);
      }
    }
  }
}
