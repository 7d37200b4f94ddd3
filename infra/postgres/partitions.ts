/** Monthly partitions. The functions of infra/postgres/functions/partitions/ make them. */
import type { Sql } from './pool.ts';

/**
 * Makes the partitions of this month and the three that follow, where they are missing. Returns how many it made. Each table
 * is a transaction of its own: one that is in use keeps no other from its turn. Throws the first failure after all had theirs.
 */
export async function preparePartitions(sql: Sql): Promise<number> {
  const tables = await sql.query<{ name: string }>('select name from partitioned_tables order by name');
  let made = 0;
  const failures: unknown[] = [];
  for (const { name } of tables.rows) {
    try {
      const { rows } = await sql.query<{ made: number }>('select prepare_partitions($1) as made', [name]);
      made += rows[0]?.made ?? 0;
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return made;
}
