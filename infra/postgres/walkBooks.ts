/** Reads the books slice by slice in the order of time: what breaks a rule, what it all comes to, and days to be sealed. */
import { BookedSums } from './bookedSums.ts';
import {
  checksOf,
  dayOf,
  endOfDay,
  rangeOf,
  type Slice,
  type SliceReport,
  startOfDay,
  sumSlice,
} from './checkSlice.ts';
import { DayRecord, unsealedFrom, verifySeal } from './ledgerSeals.ts';
import { type Finding, inSnapshot, inSnapshots, type Read } from './ledgerSnapshots.ts';
import type { SqlClient } from './pool.ts';
import { ARCHIVED_RANGES } from './ruleTerms.ts';

/** Times in Unix ms. */
export interface Extent {
  first: number;
  /** What is booked from then on may still be on its way to its commit: it is not summed here. */
  summedUntil: number;
  /** The first day that is not sealed; null: none is. */
  unsealedFrom: string | null;
  /** Days that ended before it cannot change any more. */
  closedUntil: number;
  /** The transfers before it are archived; minus infinity: none are. */
  archivedUntil: number;
  /** Slices end with their day, so that days can be sealed or compared with their seals. */
  byDay: boolean;
}

const MINUTE_MS = 60_000;
/** Longer than any transaction of the ledger may take. */
const COMMIT_MARGIN_MS = MINUTE_MS;
/** Longer than any hold may live and any transaction may take, a clock that was set back a little included. */
const CLOSING_MARGIN_MS = 120 * MINUTE_MS;

const FIRST_ROWS = `select extract(epoch from least(
    (select min(created_at) from transfers), (select min(created_at) from operations),
    (select min(created_at) from jobs), (select min(changed_at) from top_ups),
    (select min(day) from sealed_days)::timestamp at time zone 'UTC'))::float8 * 1000 as first`;

/** A day with an open hold or a running job is not over: it may still be settled or refunded. */
const OPEN_ROWS = `select extract(epoch from ledger_now())::float8 * 1000 as now, extract(epoch from least(
    (select min(o.created_at) from holds h join operations o on o.operation_id = h.operation_id and o.kind = 'charge'),
    (select min(created_at) from jobs where state in ('accepted', 'submitted'))))::float8 * 1000 as open_since`;

const ARCHIVED_UNTIL = `select extract(epoch from until)::float8 * 1000 as until from ${ARCHIVED_RANGES} a
  where since is null and until is not null`;

export async function readExtent(
  read: Read,
  { full, seal }: { full: boolean; seal: boolean },
): Promise<Extent> {
  const unsealed = await unsealedFrom(read);
  const [open] = await read(OPEN_ROWS);
  const [archived] = await read(ARCHIVED_UNTIL);
  const now = Number(open?.now);
  const openSince = typeof open?.open_since === 'number' ? open.open_since : Number.POSITIVE_INFINITY;
  const summedUntil = floorToMinute(now - COMMIT_MARGIN_MS);
  let first = unsealed === null ? summedUntil : startOfDay(unsealed);
  if (full || unsealed === null) {
    const [row] = await read(FIRST_ROWS);
    if (typeof row?.first === 'number') first = floorToMinute(row.first);
  }
  if (full || seal) first = startOfDay(dayOf(first));
  return {
    first,
    summedUntil: Math.max(first, summedUntil),
    unsealedFrom: unsealed,
    closedUntil: seal ? Math.min(now - CLOSING_MARGIN_MS, openSince) : Number.NEGATIVE_INFINITY,
    archivedUntil: typeof archived?.until === 'number' ? archived.until : Number.NEGATIVE_INFINITY,
    byDay: full || seal,
  };
}

function floorToMinute(ms: number): number {
  return Math.floor(ms / MINUTE_MS) * MINUTE_MS;
}

export interface WalkedBooks {
  findings: Finding[];
  /** Of what is not sealed, until `summedUntil`. */
  sums: BookedSums;
  /** Operations that were settled without a transfer in any slice. */
  unmoved: string[];
  /** Days that are over, oldest first. */
  sealable: DayRecord[];
}

/** One check seals at most as many sums; the days that remain are sealed by the next ones. */
const MAX_SEALED_SUMS = 1_000_000;
const DAY_MS = 1_440 * MINUTE_MS;
const MAX_SLICE_MS = 3_650 * DAY_MS;

export async function walkBooks(sql: SqlClient, extent: Extent): Promise<WalkedBooks> {
  const walk = new Walk(sql, extent);
  let from = extent.first;
  let lengthMs = extent.byDay ? DAY_MS : MAX_SLICE_MS;
  while (from < extent.summedUntil) {
    const end = extent.byDay ? Math.min(endOfDay(dayOf(from)), extent.summedUntil) : extent.summedUntil;
    const to = await inSnapshot(sql, (read) => fitSlice(read, { from, to: Math.min(from + lengthMs, end) }));
    await walk.readSlice({ from, to });
    lengthMs = Math.min(Math.max((to - from) * 2, MINUTE_MS), MAX_SLICE_MS);
    from = to;
  }
  return await walk.finish({ from, to: Number.POSITIVE_INFINITY });
}

/** Some hundred milliseconds of work for the database: no snapshot lasts long. */
const MAX_SLICE_ROWS = 200_000;

async function fitSlice(read: Read, { from, to }: Slice): Promise<number> {
  for (let end = to; ; end = from + Math.max(floorToMinute((end - from) / 4), MINUTE_MS)) {
    if (end - from <= MINUTE_MS || !(await isLong(read, { from, to: end }))) return end;
  }
}

async function isLong(read: Read, slice: Slice): Promise<boolean> {
  for (const table of ['transfers', 'operations']) {
    const [row] = await read(
      `select count(*)::int as rows from (
        select from ${table} where created_at >= $1 and created_at < $2 limit ${MAX_SLICE_ROWS + 1}) r`,
      rangeOf(slice),
    );
    if (Number(row?.rows) > MAX_SLICE_ROWS) return true;
  }
  return false;
}

class Walk {
  readonly #sql: SqlClient;
  readonly #extent: Extent;
  readonly #findings: Finding[] = [];
  readonly #sums = new BookedSums();
  readonly #unmoved = new Set<string>();
  readonly #sealable: DayRecord[] = [];
  #sealedSums = 0;
  #record: DayRecord | undefined;

  constructor(sql: SqlClient, extent: Extent) {
    this.#sql = sql;
    this.#extent = extent;
  }

  async readSlice(slice: Slice): Promise<void> {
    const isSealed = this.#isSealed(dayOf(slice.from));
    if (isSealed && slice.from < this.#extent.archivedUntil) return await this.#readArchived(slice);
    const record = this.#recordOf(dayOf(slice.from));
    const sum = async (read: Read) => {
      const sums = await sumSlice(read, slice);
      record?.add(sums);
      if (!isSealed) this.#sums.add(sums);
    };
    const parts = [...checksOf(slice, this.#note), sum, ...(record?.digests(slice) ?? [])];
    await inSnapshots(this.#sql, parts);
    if (record && slice.to === endOfDay(record.day)) await this.#endDay(record);
  }

  /** Operations, jobs and payments are still there; of the transfers there is what was sealed. */
  async #readArchived(slice: Slice): Promise<void> {
    const record = this.#recordOf(dayOf(slice.from));
    const checks = checksOf(slice, this.#noteArchived, { isArchived: true });
    await inSnapshots(this.#sql, [...checks, ...(record?.digests(slice, ['operations', 'jobs']) ?? [])]);
    if (record && slice.to === endOfDay(record.day)) await this.#endDay(record, { isArchived: true });
  }

  /** The newest rows, which are summed with the balances. */
  async finish(slice: Slice): Promise<WalkedBooks> {
    await inSnapshot(this.#sql, async (read) => {
      for (const check of checksOf(slice, this.#note)) await check(read);
    });
    return {
      findings: this.#findings,
      sums: this.#sums,
      unmoved: [...this.#unmoved],
      sealable: this.#sealable,
    };
  }

  /** Charges of an archived month have no transfers that could be waited for. */
  readonly #noteArchived = ({ findings }: SliceReport): void => {
    for (const finding of findings) this.#findings.push(finding);
  };

  readonly #note = ({ findings, settledLater, settledHere }: SliceReport): void => {
    for (const finding of findings) this.#findings.push(finding);
    for (const id of settledLater) this.#unmoved.add(id);
    for (const id of settledHere) this.#unmoved.delete(id);
  };

  #isSealed(day: string): boolean {
    return this.#extent.unsealedFrom !== null && day < this.#extent.unsealedFrom;
  }

  #recordOf(day: string): DayRecord | undefined {
    if (this.#record?.day === day) return this.#record;
    const mayBeSealed = endOfDay(day) <= this.#extent.closedUntil && this.#sealedSums < MAX_SEALED_SUMS;
    this.#record = this.#isSealed(day) || mayBeSealed ? new DayRecord(day) : undefined;
    return this.#record;
  }

  async #endDay(record: DayRecord, { isArchived = false } = {}): Promise<void> {
    if (this.#isSealed(record.day)) {
      const compared = await inSnapshot(this.#sql, (read) => verifySeal(read, record, { isArchived }));
      this.#findings.push(...compared);
    } else {
      this.#sealedSums += record.sums.size;
      this.#sealable.push(record);
    }
  }
}
