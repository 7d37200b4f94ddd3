/**
 * Seals of days that cannot change any more: what the day's transfers come to, and a digest of its rows. With them a check
 * reads only what came later; a full check reads the rows again and compares.
 */
import { createHash, type Hash } from 'node:crypto';
import type pg from 'pg';
import { BookedSums } from './bookedSums.ts';
import { type BookedSum, type KindSum, rangeOf, type Slice } from './checkSlice.ts';
import { SEALED_DAY } from './ledgerInvariants.ts';
import type { Finding, Read } from './ledgerSnapshots.ts';
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
} as const;
export type Digested = keyof typeof DIGESTED;

/** The rows of one UTC day as they are read slice by slice. */
export class DayRecord {
  readonly day: string;
  readonly sums = new BookedSums();
  readonly #hashes: Record<Digested, Hash> = {
    transfers: createHash('sha256'),
    operations: createHash('sha256'),
  };
  readonly #counts: Record<Digested, number> = { transfers: 0, operations: 0 };
  readonly #totals = new Map<string, bigint>();
  #seal: Seal | undefined;

  constructor(day: string) {
    this.day = day;
  }

  /** Slices come in the order of time and begin at whole minutes. */
  async digest(read: Read, table: Digested, slice: Slice): Promise<void> {
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
    this.#seal ??= {
      day: this.day,
      ...this.#counts,
      totals: Object.fromEntries([...this.#totals].sort().map(([place, amount]) => [place, `${amount}`])),
      digest: createHash('sha256')
        .update(this.#hashes.transfers.digest())
        .update(this.#hashes.operations.digest())
        .digest('hex'),
      sumsDigest: digestOf(this.sums),
    };
    return this.#seal;
  }
}

export interface Seal {
  day: string;
  transfers: number;
  operations: number;
  /** Nano units as decimal strings, by currency and kind ("usd charge"). */
  totals: Record<string, string>;
  /** Hexadecimal. */
  digest: string;
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

/** Compares a sealed day with its rows, and the sums that later checks build on with both. */
export async function verifySeal(read: Read, record: DayRecord): Promise<Finding[]> {
  const found = record.seal();
  const [sealed] = await read(
    `select transfers::int, operations::int, sums as totals, encode(digest, 'hex') as digest,
        encode(sums_digest, 'hex') as "sumsDigest" from sealed_days where day = $1`,
    [record.day],
  );
  const problems: string[] = [];
  if (!sealed) problems.push('there is no seal of this day');
  for (const field of ['transfers', 'operations', 'totals', 'digest', 'sumsDigest'] as const) {
    const [was, is] = [JSON.stringify(ordered(sealed?.[field])), JSON.stringify(ordered(found[field]))];
    if (sealed && was !== is) problems.push(`${field}: sealed ${was}, found ${is}`);
  }
  problems.push(...(await findWrongSums(read, record.day, sealed?.sumsDigest)));
  return problems.map((problem) => ({ invariant: SEALED_DAY, row: { day: record.day, problem } }));
}

/** A sealed day whose rows are archived: later checks still build on its sums. */
export async function verifyArchivedSeal(read: Read, day: string): Promise<Finding[]> {
  const [sealed] = await read(
    `select encode(sums_digest, 'hex') as "sumsDigest" from sealed_days where day = $1`,
    [day],
  );
  const problems = sealed
    ? await findWrongSums(read, day, sealed.sumsDigest)
    : ['there is no seal of this day'];
  return problems.map((problem) => ({ invariant: SEALED_DAY, row: { day, problem } }));
}

async function findWrongSums(read: Read, day: string, sumsDigest: unknown): Promise<string[]> {
  const problems: string[] = [];
  if (typeof sumsDigest === 'string' && digestOf(await sealedSums(read, day)) !== sumsDigest) {
    problems.push('sealed_sums is not what was sealed');
  }
  const balances = await read(WRONG_BALANCES, [day]);
  problems.push(...balances.map((row) => `sealed_balances of account ${row.account_id}: ${row.problem}`));
  return problems;
}

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
  const { day, transfers, operations, totals, digest, sumsDigest } = record.seal();
  await client.query(
    `insert into sealed_days (day, transfers, operations, sums, digest, sums_digest)
      values ($1, $2, $3, $4, decode($5, 'hex'), decode($6, 'hex'))`,
    [day, transfers, operations, totals, digest, sumsDigest],
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
