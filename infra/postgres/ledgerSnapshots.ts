/** Short transactions for the check of the ledger: a long one would keep every busy row's old versions alive. */
import pg from 'pg';

import type { SqlClient } from './pool.ts';
import { type RuleSet, ruleStatement } from './ruleSet.ts';

/** One slice or page takes about a second; slow disks need more, within a limit. */
const STATEMENT_TIMEOUT_MS = 120_000;

export type SnapshotRow = Record<string, unknown>;
export type SnapshotReader = (text: string, values?: unknown[]) => Promise<SnapshotRow[]>;

/** All reads of `work` are of one snapshot. On a client the caller's transaction determines it. */
export async function inSnapshot<T>(sql: SqlClient, work: (read: SnapshotReader) => Promise<T>): Promise<T> {
  if (!(sql instanceof pg.Pool)) return await work(readerOf(sql));
  const client = await sql.connect();
  let failure: Error | undefined;
  try {
    await client.query(`begin isolation level repeatable read; set local statement_timeout = ${STATEMENT_TIMEOUT_MS}; set local work_mem = '64MB';
      set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local jit = off`);
    const result = await work(readerOf(client));
    await client.query('commit');
    return result;
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    client.release(failure);
  }
}

/**
 * Each part reads in its own snapshot, as many at a time as the pool has connections: for past rows, which do not
 * change. On a client they run one after the other.
 */
export async function inSnapshots(
  sql: SqlClient,
  parts: readonly ((read: SnapshotReader) => Promise<void>)[],
): Promise<void> {
  if (!(sql instanceof pg.Pool)) {
    for (const part of parts) await part(readerOf(sql));
    return;
  }
  const waiting = [...parts];
  const readNext = async () => {
    for (let part = waiting.shift(); part; part = waiting.shift()) await inSnapshot(sql, part);
  };
  // No part waits in the queue of the pool, whose timeout is short.
  const ended = await Promise.allSettled(Array.from({ length: sql.options.max }, readNext));
  for (const reader of ended) if (reader.status === 'rejected') throw reader.reason;
}

function readerOf(client: pg.PoolClient): SnapshotReader {
  return async (text, values = []) => {
    const statement = { text, values, query_timeout: STATEMENT_TIMEOUT_MS };
    return (await client.query<SnapshotRow>(statement)).rows;
  };
}

export interface Finding {
  invariant: string;
  row: SnapshotRow;
}

const MAX_ROWS_SHOWN = 100;

/** Findings of a check, with at most as many rows per invariant as are shown. Corrupt books may have millions. */
export class Findings {
  readonly #rows = new Map<string, SnapshotRow[]>();

  add(findings: Iterable<Finding>): void {
    for (const { invariant, row } of findings) {
      const rows = this.#rows.get(invariant) ?? [];
      if (rows.length < MAX_ROWS_SHOWN) rows.push(row);
      this.#rows.set(invariant, rows);
    }
  }

  get isEmpty(): boolean {
    return this.#rows.size === 0;
  }

  rowsOf(invariant: string): SnapshotRow[] {
    return this.#rows.get(invariant) ?? [];
  }
}

/** Violating rows of one statement: far more than are shown, so that no invariant hides another. */
const MAX_ROWS = 20_000;

export interface RuleQuery {
  set: RuleSet;
  values?: unknown[];
  /** WITH query before those of the statement, with its comma. */
  prefix?: string;
}

/** Reads the rows that violate a rule; `see` gets each row. */
export async function findBroken(
  read: SnapshotReader,
  { set, values = [], prefix = '' }: RuleQuery,
  see: (row: SnapshotRow) => void = () => undefined,
): Promise<Finding[]> {
  // Materialized: a visible limit makes the planner optimise for the first rows, and a sound ledger has none.
  const rows = await read(
    `with ${prefix}found as materialized (${ruleStatement(set)})
      select * from found where broken = '{}'
      union all (select * from found where broken <> '{}' limit ${MAX_ROWS})`,
    values,
  );
  return rows.flatMap(({ broken, ...row }) => {
    see(row);
    return (broken as number[]).map((index) => ({ invariant: set.rules[index]?.name ?? '', row }));
  });
}
