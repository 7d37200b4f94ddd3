/** Postgres connections in the role of the services, with a timeout on every wait. */
import pg from 'pg';
import { failpoint } from '../failpoints.ts';
import { isRetryable } from './failures.ts';

export type Sql = pg.Pool;
/** Runs statements; a `PoolClient` when they must be part of the caller's transaction. */
export type SqlClient = pg.PoolClient | pg.Pool;

export interface PoolOptions {
  databaseUrl: string;
  applicationName: string;
  /** Most connections; 8 by default. */
  max?: number;
  /** Longest run of one statement; 10 s by default. The client gives up 2 s later, in case the server is silent. */
  statementTimeoutMs?: number;
  connectTimeoutMs?: number;
  /** Longest wait for a lock; 5 s by default. */
  lockTimeoutMs?: number;
  /** Connections accept statements while they run others (pipelinedConnection.ts); off by default. */
  pipelined?: boolean;
}

const LOCK_TIMEOUT_MS = 5_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 15_000;
const TRANSACTION_ATTEMPTS = 4;

/** Opens a pool in the role `farebox_app`, which cannot change or delete transfers. Connects on first use. */
export function openPool(options: PoolOptions): pg.Pool {
  const statementTimeoutMs = options.statementTimeoutMs ?? 10_000;
  const pool = new pg.Pool({
    connectionString: options.databaseUrl,
    application_name: options.applicationName,
    max: options.max ?? 8,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    query_timeout: statementTimeoutMs + 2_000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    pipeline: options.pipelined ?? false,
    options: [
      'role=farebox_app',
      'timezone=UTC',
      `statement_timeout=${statementTimeoutMs}`,
      `lock_timeout=${options.lockTimeoutMs ?? LOCK_TIMEOUT_MS}`,
      `idle_in_transaction_session_timeout=${IDLE_IN_TRANSACTION_TIMEOUT_MS}`,
    ]
      .map((setting) => `-c ${setting}`)
      .join(' '),
  });
  // The pool drops a broken connection, and its statement fails. Without listeners, a connection that breaks while idle
  // or between two statements of a transaction would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** Two for the batches (the second while the first is broken), four for calls that wait for locked accounts. */
const LEDGER_CONNECTIONS = 6;
/** A row is usually locked for milliseconds. A longer lock concerns one account, and batches do not wait for it. */
const LEDGER_LOCK_TIMEOUT_MS = 100;

/** Opens the connections of a ledger, which no other statement may delay. */
export function openLedgerPool(options: Pick<PoolOptions, 'databaseUrl' | 'applicationName'>): pg.Pool {
  return openPool({
    ...options,
    max: LEDGER_CONNECTIONS,
    pipelined: true,
    lockTimeoutMs: LEDGER_LOCK_TIMEOUT_MS,
  });
}

export interface TransactionOptions {
  /** Longest wait for a lock; that of the pool by default. */
  lockTimeoutMs?: number;
}

/**
 * Runs `work` in one transaction. A deadlock or serialization failure starts it again, three times at most, so `work`
 * must do nothing that a rollback does not undo. A connection whose rollback fails is destroyed, never pooled again.
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await oneTransaction(pool, work, options);
    } catch (error) {
      if (attempt >= TRANSACTION_ATTEMPTS || !isRetryable(error)) throw error;
      await pauseWithJitter(attempt);
    }
  }
}

/** 10, 20, 40 … ms, each reduced by up to half at random, so that colliding transactions do not meet again. */
export function pauseWithJitter(attempt: number): Promise<void> {
  const longestMs = Math.min(10 * 2 ** (attempt - 1), 500);
  return new Promise((resolve) => setTimeout(resolve, longestMs * (0.5 + Math.random() / 2)));
}

async function oneTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  { lockTimeoutMs }: TransactionOptions,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    const limited = lockTimeoutMs === undefined ? '' : `; set local lock_timeout = ${lockTimeoutMs}`;
    await client.query(`begin${limited}`);
    const result = await work(client);
    const committed = client.query('commit');
    // Awaited below; an earlier failure must not be an unhandled rejection.
    committed.catch(() => undefined);
    await failpoint('commit-sent');
    await committed;
    return result;
  } catch (error) {
    broken = await rollBack(client);
    throw error;
  } finally {
    client.release(broken);
  }
}

async function rollBack(client: pg.PoolClient): Promise<Error | undefined> {
  try {
    await client.query('rollback');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Minimum age and most rows of one deletion. */
export interface PurgePage {
  olderThanMs: number;
  limit: number;
}

/** Deletes one page of a table by the time in `column`; returns the number of deleted rows. */
export async function purgePage(
  sql: SqlClient,
  { table, column, condition = 'true' }: { table: string; column: string; condition?: string },
  page: PurgePage,
): Promise<number> {
  const { rowCount } = await sql.query(
    `delete from ${table} where ctid in (
       select ctid from ${table}
        where ${column} < clock_timestamp() - $1 * interval '1 millisecond' and ${condition} limit $2)`,
    [page.olderThanMs, page.limit],
  );
  return rowCount ?? 0;
}
