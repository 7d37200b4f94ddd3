/**
 * Seals of days that cannot change any more: what the day's transfers come to, and a digest of its rows. With them a check
 * reads only what came later; a full check reads the rows again and compares.
 */
import { createHash, type Hash } from 'node:crypto';
import type pg from 'pg';
import { BookedSums } from './bookedSums.ts';
import { type BookedSum, type KindSum, rangeOf, type Slice } from './checkSlice.ts';
import { SEALED_DAY } from './ledgerInvariants.ts';
import type { Finding, Read, Row } from './ledgerSnapshots.ts';
import { inTransaction } from './pool.ts';

/**
 * What of a row never changes once its day is over, in a fixed order: columns that a later migration adds do not change an
 * old digest. Digested is the binary form of the wire protocol, which takes half as long to write as text. The refund of an operation comes later, and is a row of its own.
 */
const DIGESTED = {
  transfers: {
    row: `row(id, created_at, operation_id, kind, account_id, house, currency, amount, day, key_id, details, sold)`,
    order: 'created_at, id',
  },
  operations: {
    row: `row(operation_id, kind, account_id, state, day, key_id, parent_key_id, price_usd, price_diem, held_diem,
      held_bundled, held_usd, diem, bundled, usd, created_at)`,
    order: 'created_at, operation_id, kind',
  },
  jobs: {
    row: 'row(queue_id, account_id, price_usd_nano, charge_operation_id, created_at)',
    order: 'created_at, queue_id',
  },
} as const;
export type Digested = keyof typeof DIGESTED;
const DIGESTED_TABLES = Object.keys(DIGESTED) as Digested[];

/** The rows of one UTC day as they are read slice by slice. */
export class DayRecord {
  readonly day: string;
  readonly sums = new BookedSums();
  readonly #hashes: Record<Digested, Hash> = {
    transfers: createHash('sha256'),
    operations: createHash('sha256'),
    jobs: createHash('sha256'),
  };
  readonly #counts: Record<Digested, number> = { transfers: 0, operations: 0, jobs: 0 };
  readonly #totals = new Map<string, bigint>();
  #seal: Seal | undefined;

  constructor(day: string) {
    this.day = day;
  }

  /** Slices come in the order of time and begin at whole minutes. */
  digests(slice: Slice, tables: readonly Digested[] = DIGESTED_TABLES): ((read: Read) => Promise<void>)[] {
    return tables.map((table) => (read) => this.#digest(read, table, slice));
  }

  async #digest(read: Read, table: Digested, slice: Slice): Promise<void> {
    for (const { minute, rows, digest } of await digestMinutes(read, table, slice)) {
      this.#hashes[table].update(`${minute} ${rows} ${digest}\n`);
      this.#counts[table] += rows;
    }
  }

  /** Those of a slice. */
  add(sums: readonly KindSum[]): void {
    this.sums.add(sums);
    for (const { currency, kind, amount } of sums) {
      const place = `${currency} ${kind}`;
      this.#totals.set(place, (this.#totals.get(place) ?? 0n) + amount);
    }
  }

  /** Of all slices of the day; nothing may be read after it. */
  seal(): Seal {
    if (this.#seal) return this.#seal;
    const [transfers, operations, jobs] = [
      this.#hashes.transfers.digest(),
      this.#hashes.operations.digest(),
      this.#hashes.jobs.digest(),
    ];
    this.#seal = {
      day: this.day,
      ...this.#counts,
      totals: Object.fromEntries([...this.#totals].sort().map(([place, amount]) => [place, `${amount}`])),
      digest: createHash('sha256').update(transfers).update(operations).digest('hex'),
      operationsDigest: operations.toString('hex'),
      jobsDigest: jobs.toString('hex'),
      sumsDigest: digestOf(this.sums),
    };
    return this.#seal;
  }
}

export interface Seal {
  day: string;
  transfers: number;
  operations: number;
  jobs: number;
  /** Nano units as decimal strings, by currency and kind ("usd charge"). */
  totals: Record<string, string>;
  /** Digest of transfers and operations, hexadecimal. */
  digest: string;
  operationsDigest: string;
  jobsDigest: string;
  sumsDigest: string;
}

/** A digest for each minute: the rows of a day may be more than one value can hold. */
async function digestMinutes(read: Read, table: Digested, slice: Slice) {
  const { row, order } = DIGESTED[table];
  const rows = await read(
    `select extract(epoch from date_trunc('minute', created_at))::text as minute, count(*)::int as rows,
        encode(sha256(string_agg(record_send(${row}), '' order by ${order})), 'hex') as digest
      from ${table} where created_at >= $1 and created_at < $2
      group by date_trunc('minute', created_at) order by date_trunc('minute', created_at)`,
    rangeOf(slice),
  );
  return rows.map(({ minute, rows, digest }) => ({ minute, rows: Number(rows), digest }));
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

/** The first day that is not sealed; null: none is. Days are sealed in their order, without a gap. */
export async function unsealedFrom(read: Read): Promise<string | null> {
  const [row] = await read('select (max(day) + 1)::text as day from sealed_days');
  return typeof row?.day === 'string' ? row.day : null;
}

/** Whether the transfers of a sealed day are there to be compared. */
interface Comparison {
  isArchived: boolean;
}

const COMPARED = [
  'transfers',
  'operations',
  'jobs',
  'totals',
  'digest',
  'operationsDigest',
  'jobsDigest',
  'sumsDigest',
] as const;
/** Operations and jobs stay when the transfers of their day are archived. */
const COMPARED_ARCHIVED = ['operations', 'jobs', 'operationsDigest', 'jobsDigest'] as const;

/** Compares a sealed day with its rows, and the sums that later checks build on with both. */
export async function verifySeal(
  read: Read,
  record: DayRecord,
  { isArchived }: Comparison,
): Promise<Finding[]> {
  const { day } = record;
  const found = record.seal();
  const [sealed] = await read(SEAL, [day]);
  if (!sealed) return [{ invariant: SEALED_DAY, row: { day, problem: 'there is no seal of this day' } }];
  const problems: string[] = [];
  for (const field of isArchived ? COMPARED_ARCHIVED : COMPARED) {
    // Seals of earlier versions do not have it.
    if (sealed[field] === null) continue;
    const [was, is] = [JSON.stringify(ordered(sealed[field])), JSON.stringify(ordered(found[field]))];
    if (was !== is) problems.push(`${field}: sealed ${was}, found ${is}`);
  }
  problems.push(...(await findWrongSums(read, day, sealed)));
  return problems.map((problem) => ({ invariant: SEALED_DAY, row: { day, problem } }));
}

const SEAL = `select transfers::int, operations::int, jobs::int, sums as totals, encode(digest, 'hex') as digest,
    encode(operations_digest, 'hex') as "operationsDigest", encode(jobs_digest, 'hex') as "jobsDigest",
    encode(sums_digest, 'hex') as "sumsDigest" from sealed_days where day = $1`;

async function findWrongSums(read: Read, day: string, sealed: Row): Promise<string[]> {
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
  const balances = await read(WRONG_BALANCES, [day]);
  problems.push(...balances.map((row) => `sealed_balances of account ${row.account_id}: ${row.problem}`));
  return problems;
}

const CURRENCIES = ['usd', 'bundled', 'diem', 'vcu'] as const;

/** jsonb has an order of its own. */
function ordered(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? Object.entries(value).sort() : value;
}

async function sealedSums(read: Read, day: string): Promise<BookedSum[]> {
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

const BALANCES = `select s.account_id, $1::date as day,
    coalesce(b.usd, 0) + coalesce(sum(s.amount) filter (where s.currency = 'usd'), 0) as usd,
    coalesce(b.bundled, 0) + coalesce(sum(s.amount) filter (where s.currency = 'bundled'), 0) as bundled,
    coalesce(b.vcu, 0) + coalesce(sum(s.amount) filter (where s.currency = 'vcu'), 0) as vcu
  from sealed_sums s left join lateral (
    select * from sealed_balances x where x.account_id = s.account_id and x.day < $1::date order by x.day desc limit 1
  ) b on true
  where s.day = $1::date group by s.account_id, b.usd, b.bundled, b.vcu`;

const WRONG_BALANCES = `select account_id, concat_ws(', ', 'usd ' || w.usd, 'bundled ' || w.bundled, 'vcu ' || w.vcu) as problem
  from (${BALANCES}) w
  full join (select * from sealed_balances where day = $1::date) b using (account_id)
  where (w.usd, w.bundled, w.vcu) is distinct from (b.usd, b.bundled, b.vcu) limit 100`;

const ROWS_PER_INSERT = 5_000;

/** Seals days that were checked, oldest first; the days that another check has sealed meanwhile stay as they are. */
export async function writeSeals(pool: pg.Pool, records: readonly DayRecord[]): Promise<string[]> {
  const sealed: string[] = [];
  for (const record of records) {
    const written = await inTransaction(pool, async (client) => {
      // The services cannot write seals; whoever runs the check connects as the owner of the tables.
      await client.query('set local role none');
      await client.query(`select pg_advisory_xact_lock(hashtext('farebox ledger seals'))`);
      const { rows } = await client.query<{ next: boolean }>(
        'select coalesce(max(day) + 1 = $1, true) as next from sealed_days',
        [record.day],
      );
      if (rows[0]?.next !== true) return false;
      await insertSeal(client, record);
      return true;
    });
    if (!written) break;
    sealed.push(record.day);
  }
  return sealed;
}

async function insertSeal(client: pg.PoolClient, record: DayRecord): Promise<void> {
  const { day, ...seal } = record.seal();
  await client.query(
    `with seal as (
      select (jsonb_populate_record(null::sealed_days, jsonb_build_object('day', $1::date, 'transfers', $2::bigint,
        'operations', $3::bigint, 'jobs', $4::bigint, 'sums', $5::jsonb, 'digest', '\\x' || $6, 'operations_digest', '\\x' || $7,
        'jobs_digest', '\\x' || $8, 'sums_digest', '\\x' || $9))).*
    ), before as (select chain from sealed_days order by day desc limit 1)
    insert into sealed_days (day, transfers, operations, jobs, sums, digest, operations_digest, jobs_digest, sums_digest, chain)
    select day, transfers, operations, jobs, sums, digest, operations_digest, jobs_digest, sums_digest,
      seal_chain((select chain from before), seal::sealed_days) from seal`,
    [
      ...[day, seal.transfers, seal.operations, seal.jobs, seal.totals],
      ...[seal.digest, seal.operationsDigest, seal.jobsDigest, seal.sumsDigest],
    ],
  );
  const sums = [...record.sums];
  for (let from = 0; from < sums.length; from += ROWS_PER_INSERT) {
    const rows = sums.slice(from, from + ROWS_PER_INSERT);
    await client.query(
      `insert into sealed_sums (day, account_id, key_id, currency, booked_day, amount)
        select $1, * from unnest($2::uuid[], $3::uuid[], $4::text[], $5::date[], $6::numeric[])`,
      [
        day,
        rows.map(({ accountId }) => accountId),
        rows.map(({ keyId }) => keyId),
        rows.map(({ currency }) => currency),
        rows.map(({ bookedDay }) => bookedDay),
        rows.map(({ amount }) => amount.toString()),
      ],
    );
  }
  await client.query(`insert into sealed_balances (account_id, day, usd, bundled, vcu) ${BALANCES}`, [day]);
}
