/**
 * Checks balances, diem days, usage and limits against the sealed days, the open part of the ledger and the open holds.
 */

import { ACCOUNT_RULES, PAGE_PARAMETERS } from './accountInvariants.ts';
import { BookedSums } from './bookedSums.ts';
import { startOfDay, timestampOf } from './checkSlice.ts';
import { type Finding, type Findings, findBroken, inSnapshot, type SnapshotReader } from './ledgerSnapshots.ts';
import type { SqlClient } from './pool.ts';

export interface UnsealedBooks {
  /** Sums of the transfers from the last seal until `summedUntil`. */
  sums: BookedSums;
  /** Unix ms. */
  summedUntil: number;
  /** First unsealed day; null: no day is sealed. */
  unsealedFrom: string | null;
  /** All days, not only those with transfers since the last seal. */
  full: boolean;
}

const PAGE = 500;

export async function checkAccounts(sql: SqlClient, books: UnsealedBooks, findings: Findings): Promise<void> {
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const page = await inSnapshot(sql, async (read) => {
      const ids = await accountsAfter(read, after);
      const from = await firstDay(read, books, ids);
      return { ids, from, findings: await checkPage(read, books, { ids, from }) };
    });
    // A transfer that was not committed when its slice was summed is visible now.
    if (page.findings.length > 0) {
      findings.add(await inSnapshot(sql, (read) => checkPage(read, withoutSums(books), page)));
    }
    const last = page.ids.at(-1);
    if (last === undefined || page.ids.length < PAGE) return;
    after = last;
  }
}

async function accountsAfter(read: SnapshotReader, after: string): Promise<string[]> {
  const rows = await read('select id from accounts where id > $1 order by id limit $2', [after, PAGE]);
  return rows.map(({ id }) => String(id));
}

/** Days before the last seal appear again through later refunds. */
async function firstDay(
  read: SnapshotReader,
  { sums, summedUntil, unsealedFrom, full }: UnsealedBooks,
  ids: readonly string[],
): Promise<string> {
  if (full || unsealedFrom === null) return '-infinity';
  const [newest] = await read(
    'select min(day)::text as day from transfers where account_id = any ($1::uuid[]) and created_at >= $2',
    [ids, timestampOf(summedUntil)],
  );
  const days = [unsealedFrom, ...sums.of(ids).map(({ bookedDay }) => bookedDay)];
  if (typeof newest?.day === 'string') days.push(newest.day);
  return days.sort()[0] ?? unsealedFrom;
}

/** Reads every transfer since the last seal again, in the snapshot of the balances. */
function withoutSums(books: UnsealedBooks): UnsealedBooks {
  const { unsealedFrom } = books;
  const summedUntil = unsealedFrom === null ? Number.NEGATIVE_INFINITY : startOfDay(unsealedFrom);
  return { ...books, sums: new BookedSums(), summedUntil };
}

async function checkPage(
  read: SnapshotReader,
  books: UnsealedBooks,
  { ids, from }: { ids: readonly string[]; from: string },
): Promise<Finding[]> {
  const sums = books.sums.of(ids);
  const values = [
    ids,
    timestampOf(books.summedUntil),
    sums.map(({ accountId }) => accountId),
    sums.map(({ keyId }) => keyId),
    sums.map(({ currency }) => currency),
    sums.map(({ bookedDay }) => bookedDay),
    sums.map(({ amount }) => amount.toString()),
    books.unsealedFrom ?? '-infinity',
    from,
  ];
  const findings: Finding[] = [];
  for (const set of ACCOUNT_RULES) {
    findings.push(...(await findBroken(read, { set, values, prefix: PAGE_PARAMETERS })));
  }
  return findings;
}
