import type pg from 'pg';
import { expect } from 'vitest';

/** Waits for the statements of a dead API process, after which holds and charges are final. */
export async function untilStatementsEnd(sql: pg.Pool): Promise<void> {
  const left = async () => {
    const { rows } = await sql.query<{ count: number }>(
      `select count(*)::integer as count from pg_stat_activity
       where datname = current_database() and application_name like 'farebox-api%'`,
    );
    return rows[0]?.count;
  };
  await expect.poll(left).toBe(0);
}
