/**
 * Seals of days that cannot change any more: sums of the day's transfers, and a hash of its rows. With them a check
 * reads only later rows; a full check reads the rows again and compares.
 */
import { createHash } from 'node:crypto';
import type pg from 'pg';
import { BookedSums } from './bookedSums.ts';
import type { BookedSum, HashedRows, HashedTable, KindSum } from './checkSlice.ts';
import { SEALED_DAY } from './ledgerInvariants.ts';
import type { Finding, SnapshotReader, SnapshotRow } from './ledgerSnapshots.ts';
import { inTransaction } from './pool.ts';

/** Rows of one UTC day, collected slice by slice. */
export class DayRecord {
  readonly day: string;
  readonly sums = new BookedSums();
  readonly #counts: Record<HashedTable, number> = { transfers: 0, operations: 0, jobs: 0 };
  readonly #hashes: Record<HashedTable, bigint> = { transfers: 0n, operations: 0n, jobs: 0n };
  readonly #totals = new Map<string, bigint>();

  constructor(day: string) {
    this.day = day;
  }

  addSum(sum: KindSum): void {
    this.sums.add([sum]);
    const place = `${sum.currency} ${sum.kind}`;
    this.#totals.set(place, (this.#totals.get(place) ?? 0n) + sum.amount);
    this.addRows('transfers', sum.rows);
  }

  addRows(table: HashedTable, { count, hash }: HashedRows): void {
    this.#counts[table] += count;
    this.#hashes[table] += hash;
  }

  /** Seal over all slices of the day. */
  seal(): Seal {
    return {
      day: this.day,
      ...this.#counts,
      totals: Object.fromEntries([...this.#totals].sort().map(([place, amount]) => [place, `${amount}`])),
      transfersHash: `${this.#hashes.transfers}`,
      operationsHash: `${this.#hashes.operations}`,
      jobsHash: `${this.#hashes.jobs}`,
      sumsDigest: digestOf(this.sums),
    };
  }
}

interface Seal {
  day: string;
  transfers: number;
  operations: number;
  jobs: number;
  /** Nano units as decimal strings, by currency and kind ("usd charge"). */
  totals: Record<string, string>;
  /** Sums of the hashes of the rows, decimal. */
  transfersHash: string;
  operationsHash: string;
  jobsHash: string;
  /** SHA-256, hexadecimal. */
  sumsDigest: string;
}

function digestOf(sums: Iterable<BookedSum>): string {
  const lines = [...sums].map(
    ({ accountId, keyId, currency, bookedDay, amount }) =>
      `${accountId} ${keyId ?? '-'} ${currency} ${bookedDay} ${amount}\n`,
  );
  const hash = createHash('sha256');
  for (const line of lines.sort()) hash.update(line);
  return hash.digest('hex');
}

/** First unsealed day; null: no day is sealed. Days are sealed in order, without a gap. */
export async function unsealedFrom(read: SnapshotReader): Promise<string | null> {
  const [row] = await read('select (max(day) + 1)::text as day from sealed_days');
  return typeof row?.day === 'string' ? row.day : null;
}

const COMPARED = [
  'transfers',
  'operations',
  'jobs',
  'totals',
  'transfersHash',
  'operationsHash',
  'jobsHash',
  'sumsDigest',
] as const;
/** Operations and jobs stay when the transfers of their day are archived. */
const COMPARED_ARCHIVED = ['operations', 'jobs', 'operationsHash', 'jobsHash'] as const;

/** Whether the transfers of a sealed day are archived. */
interface Comparison {
  isArchived: boolean;
}

/** Compares a sealed day with its rows, and the sums that later checks build on with both. */
export async function verifySeal(
  read: SnapshotReader,
  record: DayRecord,
  { isArchived }: Comparison,
): Promise<Finding[]> {
  const { day } = record;
  const found = record.seal();
  const [sealed] = await read(SEAL, [day]);
  if (!sealed) return [{ invariant: SEALED_DAY, row: { day, problem: 'there is no seal of this day' } }];
  const problems: string[] = [];
  for (const field of isArchived ? COMPARED_ARCHIVED : COMPARED) {
    const [was, is] = [JSON.stringify(ordered(sealed[field])), JSON.stringify(ordered(found[field]))];
    if (was !== is) problems.push(`${field}: sealed ${was}, found ${is}`);
  }
  problems.push(...(await findWrongSums(read, day, sealed)));
  return problems.map((problem) => ({ invariant: SEALED_DAY, row: { day, problem } }));
}

const SEAL = `select transfers::int, operations::int, jobs::int, sums as totals, transfers_hash::text as "transfersHash",
    operations_hash::text as "operationsHash", jobs_hash::text as "jobsHash",
    encode(sums_digest, 'hex') as "sumsDigest" from sealed_days where day = $1`;

async function findWrongSums(read: SnapshotReader, day: string, sealed: SnapshotRow): Promise<string[]> {
  const problems: string[] = [];
  const sums = await sealedSums(read, day);
  if (digestOf(sums) !== sealed.sumsDigest) problems.push('sealed_sums is not what was sealed');
  for (const currency of CURRENCIES) {
    const due = Object.entries(sealed.totals as Seal['totals'])
      .filter(([place]) => place.startsWith(`${currency} `))
      .reduce((total, [, amount]) => total + BigInt(amount), 0n);
    const found = sums.reduce((total, sum) => total + (sum.currency === currency ? sum.amount : 0n), 0n);
    if (due !== found) problems.push(`sums in ${currency}: sealed ${due}, sealed_sums come to ${found}`);
  }
  const balances = await read(WRONG_BALANCES, [day, day]);
  problems.push(...balances.map((row) => `sealed_balances of account ${row.account_id}: ${row.problem}`));
  return problems;
}

const CURRENCIES = ['usd', 'bundled', 'diem', 'vcu'] as const;

/** jsonb reorders members. */
function ordered(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? Object.entries(value).sort() : value;
}

async function sealedSums(read: SnapshotReader, day: string): Promise<BookedSum[]> {
  const rows = await read(
    'select account_id, key_id, currency, booked_day::text, amount::text from sealed_sums where day = $1',
    [day],
  );
  return rows.map((row) => ({
    accountId: String(row.account_id),
    keyId: row.key_id === null ? null : String(row.key_id),
    currency: String(row.currency),
    bookedDay: String(row.booked_day),
    amount: BigInt(String(row.amount)),
  }));
}

/** Balances of the days from $1 to $2. No day after $1 is sealed yet, or both are the same day. */
const BALANCES = `select m.account_id, m.day, coalesce(b.usd, 0) + sum(m.usd) over of_account as usd,
    coalesce(b.bundled, 0) + sum(m.bundled) over of_account as bundled, coalesce(b.vcu, 0) + sum(m.vcu) over of_account as vcu
  from (
    select account_id, day, coalesce(sum(amount) filter (where currency = 'usd'), 0) as usd,
      coalesce(sum(amount) filter (where currency = 'bundled'), 0) as bundled,
      coalesce(sum(amount) filter (where currency = 'vcu'), 0) as vcu
    from sealed_sums where day between $1::date and $2::date group by account_id, day
  ) m left join lateral (
    select * from sealed_balances x where x.account_id = m.account_id and x.day < $1::date order by x.day desc limit 1
  ) b on true
  window of_account as (partition by m.account_id order by m.day)`;

const WRONG_BALANCES = `select account_id, concat_ws(', ', 'usd ' || w.usd, 'bundled ' || w.bundled, 'vcu ' || w.vcu) as problem
  from (${BALANCES}) w
  full join (select * from sealed_balances where day between $1::date and $2::date) b using (account_id)
  where (w.usd, w.bundled, w.vcu) is distinct from (b.usd, b.bundled, b.vcu) limit 100`;

const SUMS_PER_INSERT = 5_000;
/** Limits of one transaction, which takes a fraction of a second. A commit per day would take longer than the seals. */
const MAX_AT_ONCE = { days: 31, sums: 20_000 };

/** Seals days that were checked, oldest first; the days that another check has sealed meanwhile stay as they are. */
export async function writeSeals(pool: pg.Pool, records: readonly DayRecord[]): Promise<string[]> {
  const sealed: string[] = [];
  while (sealed.length < records.length) {
    const days = firstDays(records.slice(sealed.length));
    const written = await inTransaction(pool, async (client) => {
      // The services cannot write seals; the check connects as the owner of the tables.
      await client.query('set local role none');
      await client.query(`select pg_advisory_xact_lock(hashtext('farebox ledger seals'))`);
      const { rows } = await client.query<{ next: boolean }>(
        'select coalesce(max(day) + 1 = $1, true) as next from sealed_days',
        [days[0]?.day],
      );
      if (rows[0]?.next !== true) return false;
      for (const record of days) await insertSeal(client, record.seal());
      await insertSums(client, days);
      await client.query(`insert into sealed_balances (account_id, day, usd, bundled, vcu) ${BALANCES}`, [
        days[0]?.day,
        days.at(-1)?.day,
      ]);
      return true;
    });
    if (!written) break;
    sealed.push(...days.map(({ day }) => day));
  }
  return sealed;
}

/** The days of one transaction, at least one. */
function firstDays(records: readonly DayRecord[]): DayRecord[] {
  let sums = 0;
  return records.slice(0, MAX_AT_ONCE.days).filter((record, index) => {
    sums += record.sums.size;
    return index === 0 || sums <= MAX_AT_ONCE.sums;
  });
}

async function insertSeal(client: pg.PoolClient, { day, ...seal }: Seal): Promise<void> {
  await client.query(
    `with seal as (
      select (jsonb_populate_record(null::sealed_days, jsonb_build_object('day', $1::date, 'transfers', $2::bigint,
        'operations', $3::bigint, 'jobs', $4::bigint, 'sums', $5::jsonb, 'transfers_hash', $6::numeric,
        'operations_hash', $7::numeric, 'jobs_hash', $8::numeric, 'sums_digest', '\\x' || $9))).*
    ), before as (select chain from sealed_days order by day desc limit 1)
    insert into sealed_days (day, transfers, operations, jobs, sums, transfers_hash, operations_hash, jobs_hash,
      sums_digest, chain)
    select day, transfers, operations, jobs, sums, transfers_hash, operations_hash, jobs_hash, sums_digest,
      seal_chain((select chain from before), seal::sealed_days) from seal`,
    [
      ...[day, seal.transfers, seal.operations, seal.jobs, seal.totals],
      ...[seal.transfersHash, seal.operationsHash, seal.jobsHash, seal.sumsDigest],
    ],
  );
}

async function insertSums(client: pg.PoolClient, days: readonly DayRecord[]): Promise<void> {
  const sums = days.flatMap(({ day, sums }) => [...sums].map((sum) => ({ day, ...sum })));
  for (let from = 0; from < sums.length; from += SUMS_PER_INSERT) {
    const rows = sums.slice(from, from + SUMS_PER_INSERT);
    await client.query(
      `insert into sealed_sums (day, account_id, key_id, currency, booked_day, amount)
        select * from unnest($1::date[], $2::uuid[], $3::uuid[], $4::text[], $5::date[], $6::numeric[])`,
      [
        rows.map(({ day }) => day),
        rows.map(({ accountId }) => accountId),
        rows.map(({ keyId }) => keyId),
        rows.map(({ currency }) => currency),
        rows.map(({ bookedDay }) => bookedDay),
        rows.map(({ amount }) => amount.toString()),
      ],
    );
  }
}
