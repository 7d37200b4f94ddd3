/**
 * Recomputes the ledger and reports what does not agree: `farebox ledger check`, and the end of every hard test.
 *
 * It reads the books slice by slice in the order of time, then the accounts page by page, each in a short snapshot of its
 * own. Rows of the past do not change; a balance that does not agree is looked at again in one snapshot with its rows.
 */
import pg from 'pg';
import { checkAccounts } from './checkAccounts.ts';
import { dayOf } from './checkSlice.ts';
import { LEDGER_INVARIANTS, STANDING_RULES } from './ledgerInvariants.ts';
import { writeSeals } from './ledgerSeals.ts';
import { type Finding, Findings, findBroken, inSnapshot, type SnapshotRow } from './ledgerSnapshots.ts';
import { MOVED_AS_SAID } from './operationInvariants.ts';
import type { SqlClient } from './pool.ts';
import { readExtent, walkBooks } from './walkBooks.ts';

export interface BrokenInvariant {
  invariant: string;
  /** Rows that violate it, 100 at most. */
  rows: SnapshotRow[];
}

export interface LedgerCheckOptions {
  /** Read the sealed days too, and compare them with their seals. */
  full?: boolean;
  /** Seal the days that are over and were found sound. Needs a pool. */
  seal?: boolean;
}

export interface LedgerReport {
  /** Empty for a sound ledger. */
  broken: BrokenInvariant[];
  /** Days that this check sealed. */
  sealed: string[];
  /** The UTC day before which all transfers are archived; left out when none are. */
  archivedUntil?: string;
}

/** Violated invariants; empty for a sound ledger. */
export async function checkLedger(sql: SqlClient): Promise<BrokenInvariant[]> {
  return (await runLedgerCheck(sql)).broken;
}

export async function runLedgerCheck(
  sql: SqlClient,
  { full = false, seal = false }: LedgerCheckOptions = {},
): Promise<LedgerReport> {
  const findings = new Findings();
  await inSnapshot(sql, async (read) => {
    for (const set of STANDING_RULES) findings.add(await findBroken(read, { set }));
  });
  const extent = await readExtent(sql, { full, seal });
  const walked = await walkBooks(sql, { extent, findings });
  findings.add(await findUnmoved(sql, walked.unmoved));
  const { summedUntil, unsealedFrom } = extent;
  await checkAccounts(sql, { sums: walked.sums, summedUntil, unsealedFrom, full }, findings);
  const broken = LEDGER_INVARIANTS.map((invariant) => ({ invariant, rows: findings.rowsOf(invariant) }));
  return {
    broken: broken.filter(({ rows }) => rows.length > 0),
    sealed: findings.isEmpty && sql instanceof pg.Pool ? await writeSeals(sql, walked.sealable) : [],
    ...(Number.isFinite(extent.archivedUntil) ? { archivedUntil: dayOf(extent.archivedUntil) } : {}),
  };
}

const UNMOVED = `select o.operation_id, o.account_id, o.state, o.diem, o.bundled, o.usd, o.created_at from operations o
  where o.operation_id = any ($1) and o.kind = 'charge' and o.state = 'settled' and not exists (
    select from transfers t where t.account_id = o.account_id and t.created_at >= o.created_at
      and t.operation_id = o.operation_id and t.kind = 'charge')`;

/** Settled holds without transfers in any slice. */
async function findUnmoved(sql: SqlClient, operationIds: readonly string[]): Promise<Finding[]> {
  if (operationIds.length === 0) return [];
  const rows = await inSnapshot(sql, (read) => read(UNMOVED, [operationIds]));
  return rows.map((row) => ({ invariant: MOVED_AS_SAID, row }));
}
