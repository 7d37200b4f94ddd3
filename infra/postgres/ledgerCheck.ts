/** Recomputes the whole ledger and reports what does not agree: `farebox ledger check`, and the end of every hard test. */
import pg from 'pg';
import { type Invariant, LEDGER_INVARIANTS } from './ledgerInvariants.ts';
import type { SqlClient } from './pool.ts';

export interface BrokenInvariant {
  invariant: string;
  /** The rows that break it, 100 at most. */
  rows: unknown[];
}

const MOST_ROWS = 100;
/** It reads every transfer there is: longer than any other statement may take. */
const TIMEOUT_MS = 600_000;

/** The invariants that do not hold; empty when all is well. On a pool, all are checked on one snapshot. */
export async function checkLedger(sql: SqlClient): Promise<BrokenInvariant[]> {
  if (!(sql instanceof pg.Pool)) return checkAll(sql);
  const client = await sql.connect();
  let failure: Error | undefined;
  try {
    await client.query('begin isolation level repeatable read read only');
    await client.query(`set local statement_timeout = ${TIMEOUT_MS}; set local work_mem = '64MB'`);
    const broken = await checkAll(client);
    await client.query('commit');
    return broken;
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    client.release(failure);
  }
}

async function checkAll(sql: SqlClient): Promise<BrokenInvariant[]> {
  const broken: BrokenInvariant[] = [];
  for (const invariant of LEDGER_INVARIANTS) {
    if (!(await applies(sql, invariant))) continue;
    const statement = {
      text: `select * from (${invariant.text}) broken limit ${MOST_ROWS}`,
      query_timeout: TIMEOUT_MS,
    };
    const { rows } = await sql.query(statement);
    if (rows.length > 0) broken.push({ invariant: invariant.name, rows });
  }
  return broken;
}

async function applies(sql: SqlClient, invariant: Invariant): Promise<boolean> {
  if (invariant.table === undefined) return true;
  const { rows } = await sql.query<{ there: boolean }>('select to_regclass($1) is not null as there', [
    invariant.table,
  ]);
  return rows[0]?.there ?? false;
}
