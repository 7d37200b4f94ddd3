/** Runs one ledger statement: repeats it after a rollback; throws `unavailable` without a database. */
import pg from 'pg';
import { watchStatement } from '../telemetry/watchLedger.ts';
import { asLedgerError, isRetryable } from './failures.ts';
import { pauseWithJitter, type SqlClient } from './pool.ts';

const ATTEMPTS = 4;

export interface LedgerStatement {
  /** Prepared once per connection under this name. */
  name: string;
  text: string;
  values: unknown[];
  /** Not prepared: planned for its values, for pages whose plan depends on the limit. */
  planned?: 'each time';
}

/** On a pool the statement is its own transaction and may be repeated; inside a caller's transaction it may not. */
export async function runLedgerStatement<Row extends pg.QueryResultRow>(
  sql: SqlClient,
  statement: LedgerStatement,
): Promise<Row[]> {
  return await watchStatement(statement.name, () => untilItHolds<Row>(sql, statement));
}

async function untilItHolds<Row extends pg.QueryResultRow>(sql: SqlClient, statement: LedgerStatement): Promise<Row[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await sql.query<Row>(queryOf(statement))).rows;
    } catch (error) {
      if (!(sql instanceof pg.Pool)) throw error;
      if (attempt >= ATTEMPTS || !isRetryable(error)) throw asLedgerError(error);
      await pauseWithJitter(attempt);
    }
  }
}

function queryOf({ planned, name, ...query }: LedgerStatement): pg.QueryConfig {
  return planned === undefined ? { name, ...query } : query;
}
