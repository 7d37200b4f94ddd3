import type pg from 'pg';
import { expect } from 'vitest';

/** Waits for what a dead API process had sent: only then it is certain what was held and what was charged. */
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
