import type pg from 'pg';
import { requireVariables } from '../infra/config/environment.ts';
import { type OperatorEnvironment, readOperatorEnvironment } from '../infra/config/operator.ts';
import { openPool } from '../infra/postgres/pool.ts';
import { CommandError, errorLine } from './commandError.ts';

export type DatabaseEnvironment = OperatorEnvironment & { DATABASE_URL: string };

/**
 * Runs one command on the database of the environment (or of a running `npm start`), and closes the pool afterwards.
 */
export async function withDatabase<T>(
  work: (pool: pg.Pool, environment: DatabaseEnvironment) => Promise<T>,
): Promise<T> {
  const environment = readOperatorEnvironment();
  requireVariables(environment, ['DATABASE_URL']);
  const pool = openPool({
    databaseUrl: environment.DATABASE_URL,
    applicationName: 'farebox-cli',
    max: 2,
    statementTimeoutMs: 300_000,
  });
  try {
    return await work(pool, environment);
  } catch (error) {
    throw explain(error, environment.DATABASE_URL);
  } finally {
    await pool.end();
  }
}

/** Explains the two common mistakes of a new operator: a missing schema and an unreachable database. */
function explain(error: unknown, databaseUrl: string): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const { host, pathname } = new URL(databaseUrl);
  if (code === '42P01' || code === '42704' || code === '22023') {
    return new CommandError(
      `the database ${pathname.slice(1)} at ${host} has no Farebox tables: run \`farebox migrate\` first`,
    );
  }
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'ETIMEDOUT') {
    return new CommandError(`no database at ${host} (DATABASE_URL): ${errorLine(error)}`);
  }
  return error;
}
