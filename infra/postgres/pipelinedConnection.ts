/**
 * Sends each statement while the one before still runs: Postgres starts it right after that commit, without waiting for
 * this process. Each is a transaction of its own. Benches `chat` and `ledger`.
 */
import type pg from 'pg';
import { isLockTimeout, isUnavailable } from './failures.ts';
import type { Sql } from './pool.ts';

export interface PipelinedConnection {
  /** Statements run in the order of the calls. When the connection breaks, their outcome is unknown. */
  query<Row extends pg.QueryResultRow>(statement: pg.QueryConfig): Promise<Row[]>;
}

interface LaneConnection {
  client: Promise<pg.PoolClient>;
  users: number;
  broken: boolean;
}

/** Holds one connection of the pool while statements run. Without pipelining each statement takes its own. */
export function openPipelinedConnection(pool: Sql): PipelinedConnection {
  if (!pool.options.pipeline) {
    return {
      query: async <Row extends pg.QueryResultRow>(statement: pg.QueryConfig) =>
        (await pool.query<Row>(statement)).rows,
    };
  }
  let held: LaneConnection | undefined;

  function leave(left: LaneConnection): void {
    left.users -= 1;
    if (left.users > 0) return;
    if (held === left) held = undefined;
    // A failed connect leaves nothing to release.
    left.client.then(
      (client) => client.release(left.broken),
      () => undefined,
    );
  }

  return {
    async query<Row extends pg.QueryResultRow>(statement: pg.QueryConfig) {
      held ??= { client: pool.connect(), users: 0, broken: false };
      const mine = held;
      mine.users += 1;
      try {
        const client = await mine.client;
        return (await client.query<Row>(statement)).rows;
      } catch (error) {
        if (isUnavailable(error) && !isLockTimeout(error)) {
          mine.broken = true;
          if (held === mine) held = undefined;
        }
        throw error;
      } finally {
        leave(mine);
      }
    },
  };
}
